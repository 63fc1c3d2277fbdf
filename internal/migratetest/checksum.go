package migratetest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Checksum returns a digest of all that the shop holds, which does not depend on what the ids are: [Shape.Checksum] of the columns and
// references that Schema makes. Other columns are not looked at.
func Checksum(ctx context.Context, db *sql.DB, kind string) (string, error) {
	return (&Shape{kind: kind, tables: tables}).Checksum(ctx, db)
}

// Checksum returns a digest of all that the tables hold, which does not depend on what the ids are: each row has, in place of the ids of
// others, these rows' contents. So it is the same before and after new ids are given, and another when one row is lost, or changed, or refers
// to another one. Ids that no row has are part of it as they are. Rows that are equal in all but their ids, and refer to equal rows, are not
// told apart. The whole content is in memory meanwhile.
func (s *Shape) Checksum(ctx context.Context, db *sql.DB) (string, error) {
	digests, err := s.Digests(ctx, db)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, t := range s.tables {
		fmt.Fprintf(all, "%s %s\n", t.name, digests[t.name])
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// Digests returns a digest for each table, so that two of a database say which table differs. One begins with the number of rows.
func (s *Shape) Digests(ctx context.Context, db *sql.DB) (map[string]string, error) {
	conn, done, err := connect(ctx, db, s.kind)
	if err != nil {
		return nil, err
	}
	defer done()
	c := content{rows: map[string][]*row{}, byKey: map[string]map[string]*row{}}
	for _, t := range s.tables {
		if err := c.read(ctx, conn, s, t); err != nil {
			return nil, fmt.Errorf("migratetest: %s: %w", t.name, err)
		}
	}
	if err := c.index(s); err != nil {
		return nil, err
	}
	if err := c.label(s); err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for _, t := range s.tables {
		labels := make([]string, len(c.rows[t.name]))
		for i, r := range c.rows[t.name] {
			labels[i] = r.label
		}
		slices.Sort(labels)
		digest := sha256.Sum256([]byte(strings.Join(labels, "\n")))
		digests[t.name] = fmt.Sprintf("%d %x", len(labels), digest)
	}
	return digests, nil
}

// content is what the database holds.
type content struct {
	rows  map[string][]*row
	byKey map[string]map[string]*row // by "table column column", and the values there
}

// row is a row, and its label once it is known.
type row struct {
	table  table
	values map[string]any // texts, or nil for NULL
	label  string
}

// tuple returns a row's values in some columns as one text, false where one of them is NULL.
func (r *row) tuple(columns []string) (string, bool) {
	var out strings.Builder
	for _, c := range columns {
		v, ok := r.values[c].(string)
		if !ok {
			return "", false
		}
		fmt.Fprintf(&out, "%q ", v)
	}
	return out.String(), true
}

// target returns the columns that a reference refers to.
func (s *Shape) target(f ref, to string) []string {
	columns := []string{cmp.Or(f.by, s.table(to).key)}
	for _, m := range f.more {
		columns = append(columns, m[1])
	}
	return columns
}

// targets returns the tables that a reference may refer to.
func (f ref) targets() (names []string) {
	if f.kind == "" {
		return []string{f.to}
	}
	for _, to := range f.tables {
		names = append(names, to)
	}
	return names
}

// read reads a table.
func (c *content) read(ctx context.Context, conn *sql.Conn, s *Shape, t table) (err error) {
	columns := s.columns(t)
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = s.quote(column)
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	c.rows[t.name], err = dialect.All(ctx, conn, "SELECT "+strings.Join(quoted, ", ")+" FROM "+s.quote(t.name)+s.where(t), nil, func(rows *sql.Rows) (*row, error) {
		r := &row{table: t, values: map[string]any{}}
		err := rows.Scan(into...)
		for i, column := range columns {
			r.values[column] = text(values[i])
		}
		return r, err
	})
	return err
}

// index makes rows found by all columns that references refer to.
func (c *content) index(s *Shape) error {
	for _, t := range s.tables {
		for _, f := range t.refs {
			for _, to := range f.targets() {
				columns := s.target(f, to)
				name := to + " " + strings.Join(columns, " ")
				if c.byKey[name] != nil {
					continue
				}
				c.byKey[name] = map[string]*row{}
				for _, r := range c.rows[to] {
					key, ok := r.tuple(columns)
					if ok && c.byKey[name][key] != nil {
						return fmt.Errorf("migratetest: two rows of %s have %s in %s", to, key, strings.Join(columns, ", "))
					}
					if ok {
						c.byKey[name][key] = r
					}
				}
			}
		}
	}
	return nil
}

// label gives each row a digest of its contents and those of the rows that it refers to, however far: first of the row's own, then round
// after round with the labels of the round before in place of references, until a round tells no more rows apart than that before. So circles
// of references are no matter.
func (c *content) label(s *Shape) error {
	var all []*row
	for _, t := range s.tables {
		all = append(all, c.rows[t.name]...)
	}
	for _, r := range all {
		digest := sha256.New()
		fmt.Fprintf(digest, "%s\n", r.table.name)
		for _, column := range r.table.columns {
			fmt.Fprintf(digest, "%s=%T %[2]q\n", column, r.values[column])
		}
		r.label = string(digest.Sum(nil))
	}
	for apart, before := distinct(all), -1; apart > before; {
		labels := make([]string, len(all))
		for i, r := range all {
			digest := sha256.New()
			fmt.Fprintf(digest, "%q\n", r.label)
			for _, f := range r.table.refs {
				content, err := c.reference(s, r, f)
				if err != nil {
					return fmt.Errorf("migratetest: %s: %w", r.table.name, err)
				}
				fmt.Fprintf(digest, "%s=%q\n", f.column, content)
			}
			labels[i] = string(digest.Sum(nil))
		}
		for i, r := range all {
			r.label = labels[i]
		}
		before, apart = apart, distinct(all)
	}
	return nil
}

// distinct returns how many labels rows have.
func distinct(rows []*row) int {
	labels := make(map[string]bool, len(rows))
	for _, r := range rows {
		labels[r.label] = true
	}
	return len(labels)
}

// text returns a value as a text that does not depend on the driver's choice of a type, nil for NULL.
func text(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// reference returns what a reference has in place of its id.
func (c *content) reference(s *Shape, r *row, f ref) (string, error) {
	columns := []string{f.column}
	for _, m := range f.more {
		columns = append(columns, m[0])
	}
	key, ok := r.tuple(columns)
	if !ok {
		return "NULL", nil
	}
	to := f.to
	if f.kind != "" {
		to = f.tables[fmt.Sprint(r.values[f.kind])]
	}
	if f.path == nil {
		return c.content(s, f, to, key), nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(r.values[f.column].(string))))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return "", err
	}
	at := document
	for _, step := range f.path[:len(f.path)-1] {
		next, ok := at[step].(map[string]any)
		if !ok {
			return key, nil
		}
		at = next
	}
	last := f.path[len(f.path)-1]
	at[last] = fmt.Sprintf("%T %s", at[last], c.content(s, f, to, fmt.Sprintf("%q ", fmt.Sprint(at[last]))))
	whole, err := json.Marshal(document)
	return string(whole), err
}

// content returns the label of the row with an id, or the id when there is none.
func (c *content) content(s *Shape, f ref, to, key string) string {
	if r := c.byKey[to+" "+strings.Join(s.target(f, to), " ")][key]; r != nil {
		return fmt.Sprintf("%x", r.label)
	}
	return "none " + key
}
