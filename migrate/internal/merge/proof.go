package merge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// keysPage is how many keys are read at once.
const keysPage = 10_000

// clashing is what was found twice.
type clashing struct {
	tables [][]string     // by side: the tables whose ids clash, and which have to be given new ones there
	values []string       // other unique values, in sentences
	nodes  map[int64]bool // that any id of any of the databases has
	top    []int64        // by side: the greatest id
}

func (c *clashing) any() bool {
	return len(c.values) > 0 || c.ids()
}

// ids reports whether integer keys clash.
func (c *clashing) ids() bool {
	return slices.ContainsFunc(c.tables, func(t []string) bool { return len(t) > 0 })
}

// err returns what clashes as an error.
func (c *clashing) err(proofs []Proof) error {
	var lines []string
	for _, p := range proofs {
		if p.Clashes > 0 {
			lines = append(lines, p.Table+": "+p.Text)
		}
	}
	return fmt.Errorf("%w; nothing was copied:\n  %s", ErrClash, strings.Join(append(lines, c.values...), "\n  "))
}

// prove proves that no key, and no other unique value, is in two of the databases, or finds those that are.
func (m *merger) prove(ctx context.Context) (*clashing, error) {
	found := &clashing{tables: make([][]string, len(m.sides)), nodes: map[int64]bool{}, top: make([]int64, len(m.sides))}
	for _, t := range m.tables {
		if t.integer {
			p, err := m.proveIntegers(ctx, t, found)
			if err != nil {
				return nil, err
			}
			m.outcome.Proof = append(m.outcome.Proof, p)
		}
	}
	for _, t := range m.tables {
		if !t.integer {
			p, err := m.proveOthers(ctx, t, found)
			if err != nil {
				return nil, err
			}
			m.outcome.Proof = append(m.outcome.Proof, p)
		}
		if err := m.proveUnique(ctx, t, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// stream is the ids of one database in their order.
type stream struct {
	side   *side
	table  *table
	page   []int64
	copied int64 // ids up to here were copied into Into before
	begun  bool  // copied is one
	ended  bool  // there is no page after this
	rows   int64
	nodes  map[int64]bool
	old    bool // has an id that is no snowflake
	last   int64
}

// head returns the next id; ok is false at the end.
func (s *stream) head(ctx context.Context) (id int64, ok bool, err error) {
	if len(s.page) == 0 && !s.ended {
		key := s.side.quote(s.table.keyNames()...)[0]
		q := s.side.statement("SELECT ", key, " FROM ", s.table.quoted, " r")
		if s.rows > 0 {
			q.add(" WHERE ")
			q.after([]string{key}, []any{s.last})
		}
		q.by([]string{key}, keysPage)
		err := s.side.each(ctx, q, func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			s.page = append(s.page, id)
			return err
		})
		if err != nil {
			return 0, false, fmt.Errorf("%w (the ids of %s)", err, s.table.text)
		}
		s.ended = len(s.page) < keysPage
	}
	if len(s.page) == 0 {
		return 0, false, nil
	}
	return s.page[0], true, nil
}

// next takes the next id.
func (s *stream) next(layout idgen.Layout, below int64) {
	s.last = s.page[0]
	s.page = s.page[1:]
	s.rows++
	parts, err := layout.Decode(s.last)
	if s.last < below || err != nil {
		s.old = true
		return
	}
	s.nodes[parts.Datacenter<<layout.Bits(idgen.Node)|parts.Node] = true
}

// proveIntegers compares the ids of a table, all databases at a time.
func (m *merger) proveIntegers(ctx context.Context, t *table, found *clashing) (Proof, error) {
	streams := make([]*stream, len(m.sides))
	for i, s := range m.sides {
		streams[i] = &stream{side: s, table: t, nodes: map[int64]bool{}}
		if s.into {
			continue
		}
		if upto := m.journal.of(s, t).upto; upto != nil {
			id, err := strconv.ParseInt(fmt.Sprint(upto[0]), 10, 64)
			if err != nil {
				return Proof{}, fmt.Errorf("%w: the journal of %s: %w", ErrCopied, t.text, err)
			}
			streams[i].copied, streams[i].begun = id, true
		}
	}
	p := Proof{Table: t.text}
	again := make([]bool, len(m.sides)) // whose ids are already in one before it
	began, rows := time.Now(), int64(0)
	for {
		least, holders, err := heads(ctx, streams)
		if err != nil {
			return p, err
		}
		if len(holders) == 0 {
			break
		}
		first := true
		clash := false
		for _, i := range holders {
			s := streams[i]
			s.next(m.layout, m.below)
			switch {
			case s.begun && least <= s.copied: // its copy is in Into
			case first:
				first = false
			default:
				again[i], clash = true, true
			}
			if rows++; rows%keysPage == 0 {
				m.report("compare ids of "+t.text, rows, -1, began)
			}
		}
		if clash {
			if p.Clashes == 0 {
				p.First = least
			}
			p.Clashes++
		}
	}
	m.report("compare ids of "+t.text, rows, rows, began)
	for i, s := range streams {
		p.Rows = append(p.Rows, s.rows)
		found.top[i] = max(found.top[i], s.last)
		maps.Copy(found.nodes, s.nodes)
		p.Nodes = append(p.Nodes, nil)
		if !s.old {
			p.Nodes[i] = slices.Sorted(maps.Keys(s.nodes))
		}
		if again[i] && !t.refers { // ids of one that refers are another's, and change with these
			found.tables[i] = append(found.tables[i], t.text)
		}
	}
	t.rows = p.Rows
	p.Text = m.sentence(t, p)
	if p.Clashes > 0 && !found.ids() {
		found.values = append(found.values, t.text+": its keys are another table's, and clash alone") // so that it is refused
	}
	return p, nil
}

// heads returns the least id that is next in any stream, and the streams that have it.
func heads(ctx context.Context, streams []*stream) (least int64, holders []int, err error) {
	for i, s := range streams {
		id, ok, err := s.head(ctx)
		switch {
		case err != nil:
			return 0, nil, err
		case !ok || len(holders) > 0 && id > least:
		case len(holders) > 0 && id == least:
			holders = append(holders, i)
		default:
			least, holders = id, append(holders[:0], i)
		}
	}
	return least, holders, nil
}

// sentence says what was proved.
func (m *merger) sentence(t *table, p Proof) string {
	total, copied := int64(0), int64(0)
	for i, n := range p.Rows {
		total += n
		if i > 0 {
			copied += m.journal.of(m.sides[i], t).copied
		}
	}
	text := fmt.Sprintf("%s ids of %d databases, ", group(total), len(m.sides))
	if !t.integer {
		text = fmt.Sprintf("%s keys of %d databases, ", group(total), len(m.sides))
	}
	switch {
	case p.Clashes > 0 && t.integer:
		text += fmt.Sprintf("%s of them in more than one, the least %d", group(p.Clashes), p.First)
	case p.Clashes > 0:
		text += fmt.Sprintf("%s of them in more than one", group(p.Clashes))
	default:
		text += "none twice"
	}
	if copied > 0 && p.Clashes == 0 {
		text += fmt.Sprintf(" but the %s that were copied before", group(copied))
	}
	all := map[int64]bool{}
	for i, nodes := range p.Nodes {
		if nodes == nil && p.Rows[i] > 0 {
			return text
		}
		for _, n := range nodes {
			all[n] = true
		}
	}
	var words []string
	for _, n := range slices.Sorted(maps.Keys(all)) {
		words = append(words, strconv.FormatInt(n, 10))
	}
	switch len(words) {
	case 0:
	case 1:
		text += "; node " + words[0]
	default:
		text += "; nodes " + list(words)
	}
	return text
}

// group writes a number with a comma between thousands.
func group(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
