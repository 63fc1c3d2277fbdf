package migratetest

import (
	"bytes"
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
)

// Checksum returns a digest of all that the shop holds, which does not depend on what the ids are: each row has, in place of the ids of
// others, these rows' contents. So it is the same before and after new ids are given, and another when one row is lost, or changed, or refers
// to another one. Ids that no row has are part of it as they are. Columns that Schema does not make are not looked at. The whole shop is in memory
// meanwhile.
func Checksum(ctx context.Context, db *sql.DB, kind string) (string, error) {
	conn, done, err := connect(ctx, db, kind)
	if err != nil {
		return "", err
	}
	defer done()
	s := shop{rows: map[string][]*row{}, byKey: map[string]map[string]*row{}}
	for _, t := range tables {
		if err := s.read(ctx, conn, t); err != nil {
			return "", fmt.Errorf("migratetest: %s: %w", t.name, err)
		}
	}
	all := sha256.New()
	for _, t := range tables {
		var labels []string
		for _, r := range s.rows[t.name] {
			label, err := s.label(r)
			if err != nil {
				return "", fmt.Errorf("migratetest: %s: %w", t.name, err)
			}
			labels = append(labels, label)
		}
		slices.Sort(labels)
		fmt.Fprintf(all, "%s %d\n%s\n", t.name, len(labels), strings.Join(labels, "\n"))
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// shop is what the database holds.
type shop struct {
	rows  map[string][]*row
	byKey map[string]map[string]*row // by table, and key
}

// row is a row, and its label once it is known.
type row struct {
	table  table
	values map[string]any // texts, or nil for NULL
	label  string
	busy   bool // its label is being made
}

// read reads a table.
func (s *shop) read(ctx context.Context, conn *sql.Conn, t table) error {
	columns := slices.Clone(t.columns)
	for _, r := range t.refs {
		columns = append(columns, r.column)
	}
	if t.key != "" {
		columns = append(columns, t.key)
	}
	rows, err := conn.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+t.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.byKey[t.name] = map[string]*row{}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r := &row{table: t, values: map[string]any{}}
		for i, c := range columns {
			r.values[c] = text(values[i])
		}
		s.rows[t.name] = append(s.rows[t.name], r)
		if t.key != "" {
			s.byKey[t.name][fmt.Sprint(r.values[t.key])] = r
		}
	}
	return rows.Err()
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

// label returns a digest of a row's contents and those of the rows that it refers to, however far.
func (s *shop) label(r *row) (string, error) {
	if r.label != "" {
		return r.label, nil
	}
	if r.busy {
		return "", fmt.Errorf("a row refers to itself, if by others: %v", r.values)
	}
	r.busy = true
	defer func() { r.busy = false }()
	digest := sha256.New()
	for _, c := range r.table.columns {
		fmt.Fprintf(digest, "%s=%T %[2]q\n", c, r.values[c])
	}
	for _, f := range r.table.refs {
		content, err := s.reference(r, f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(digest, "%s=%q\n", f.column, content)
	}
	r.label = hex.EncodeToString(digest.Sum(nil))
	return r.label, nil
}

// reference returns what a reference has in place of its id.
func (s *shop) reference(r *row, f ref) (string, error) {
	value := r.values[f.column]
	if value == nil {
		return "NULL", nil
	}
	id, to := value.(string), f.to
	if f.kind != "" {
		to = f.tables[fmt.Sprint(r.values[f.kind])]
	}
	if f.path == nil {
		return s.content(to, id)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(id)))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return "", err
	}
	at := document
	for _, step := range f.path[:len(f.path)-1] {
		next, ok := at[step].(map[string]any)
		if !ok {
			return id, nil
		}
		at = next
	}
	last := f.path[len(f.path)-1]
	content, err := s.content(to, fmt.Sprint(at[last]))
	if err != nil {
		return "", err
	}
	at[last] = fmt.Sprintf("%T %s", at[last], content)
	whole, err := json.Marshal(document)
	return string(whole), err
}

// content returns the label of the row with an id, or the id when there is none.
func (s *shop) content(table, id string) (string, error) {
	to, ok := s.byKey[table][id]
	if !ok {
		return "none " + id, nil
	}
	return s.label(to)
}
