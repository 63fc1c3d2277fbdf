package plan

import (
	"fmt"
	"regexp"
	"strings"
)

var pathPart = regexp.MustCompile(`^(?:\.([A-Za-z_][A-Za-z0-9_]*)|\."([^"\\]+)"|\[([0-9]{1,9})\])`)

// jsonPath returns the parts of a path such as $.customer.id: names of members and numbers of elements.
func jsonPath(path string) ([]string, error) {
	if err := checkName(path); err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(path, "$")
	var parts []string
	for ok && rest != "" {
		found := pathPart.FindStringSubmatch(rest)
		if found == nil {
			break
		}
		switch {
		case found[3] != "":
			parts = append(parts, "["+found[3]+"]")
		case strings.HasPrefix(found[2], "["): // which is how the parts tell elements
			return nil, fmt.Errorf("%w: the JSON path %q has a member whose name begins with [", ErrOption, path)
		default:
			parts = append(parts, found[1]+found[2])
		}
		rest = rest[len(found[0]):]
	}
	if len(parts) == 0 || rest != "" {
		return nil, fmt.Errorf("%w: the JSON path %q, must be like $.customer.id, $.\"a name\" or $[0], for one place in a document", ErrOption, path)
	}
	return parts, nil
}

// dollarPath returns a path as MySQL and SQLite have it.
func dollarPath(parts []string) string {
	text := "$"
	for _, part := range parts {
		if strings.HasPrefix(part, "[") {
			text += part
		} else {
			text += `."` + part + `"`
		}
	}
	return text
}

// decimal is a regular expression for the texts of numbers of 64 bits as a database writes them. It has them up to 9,223,299,999,999,999,999,
// which ids reach when hardly any are left, so that none that it has is too large for the type.
const decimal = `^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$`

// document moves the ids in one place of documents. Nothing but reading them finds them, so it goes over the table's rows and not over the
// map, where the table has a key to go by.
func (b *rekeyBuilder) document(r rewriting, m move, from, to string) Action {
	ends, where := cursor(r.source), rangeOfMap
	if key := b.keyOf(m.table); key != "" {
		key = b.quote(key)
		ends = fmt.Sprintf("SELECT MAX(%[1]s) FROM (SELECT %[1]s FROM %[2]s WHERE %[1]s > :after ORDER BY %[1]s LIMIT :rows) x", key, b.quoted(m.table))
		where = fmt.Sprintf("c.%s > :after AND c.%[1]s <= :upto", key)
	}
	a := Action{Kind: Batch, Session: b.engine.session(), Cursor: ends, SQL: b.engine.update(r.source, m, from, to, where, ""), Remaining: b.remaining(r, m, from)}
	a.Before, a.After = b.engine.around([]move{m})
	return a
}

// keyOf returns a table's integer key, nothing when it has none.
func (b *builder) keyOf(table string) string {
	if t := b.inReport(table); t.Key != nil {
		return t.Key.Column
	}
	return ""
}

// documents moves the ids in JSON after all keys have moved, so that the ranges of a table's rows are those of its keys as they are then.
func (b *rekeyBuilder) documents() {
	for _, r := range b.all {
		_, documents := r.split()
		for _, m := range documents {
			rows, bytes := b.weight([]move{m})
			b.add(Step{
				Title: "rewrite the ids of … in the JSON of …", Names: []string{r.Table, m.name}, Phase: "rewrite", Tables: []string{m.table}, Lock: rowLock,
				Algorithm: "batches", Rows: rows, Bytes: bytes, Disk: b.growth(bytes), Do: b.document(r, m, "old_id", "new_id"),
				Kept: "a rollback does it when the keys are back, where the step that has counted them is undone",
			})
			if b.keyOf(m.table) == "" {
				b.note(fmt.Sprintf("%s has no integer key, so each batch of its JSON reads the whole table.", m.table))
			}
			b.note(fmt.Sprintf("The JSON of %s is rewritten after the keys: until then it has old ids. Spaces in a changed document, and the order of "+
				"its members, may come out as the database writes them.", m.name))
		}
	}
}
