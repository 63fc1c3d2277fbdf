package plan_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// planted is the new id of an old one: another for each key, in the order of the old ones.
func planted(key int, old int64) int64 { return 7130316800000020481 + int64(key)<<40 + 3*old }

// mover does the steps of a plan, one after the other, with batches of seven rows and planted new ids.
type mover struct {
	t     testing.TB
	db    *sql.DB
	d     dialect.Dialect
	p     *plan.Plan
	found counts
	after func(s plan.Step) // each step
	back  func(s plan.Step) // each step that was undone
}

var marks = regexp.MustCompile(`:(after|upto|rows)\b`)

func bind(statement string, after, upto int64) string {
	return marks.ReplaceAllStringFunc(statement, func(m string) string {
		return map[string]string{":after": strconv.FormatInt(after, 10), ":upto": strconv.FormatInt(upto, 10), ":rows": "7"}[m]
	})
}

func (e *mover) run() {
	e.t.Helper()
	for i, s := range e.p.Steps {
		if s.Do.Kind == plan.ReserveNode && i > 0 {
			e.t.Errorf("the node is taken at step %d, after others: %s", i+1, e.p.Steps[0].String())
		}
		if s.Kept == "" && s.Undo == nil && slices.Contains([]plan.Kind{plan.Transactional, plan.Autocommit, plan.Batch, plan.FillMap, plan.ReserveNode}, s.Do.Kind) {
			e.t.Errorf("step %d, %s: neither an undo nor why there is none", i+1, s.String())
		}
		if err := e.do(s.Do, s.String()); err != nil {
			e.t.Fatalf("step %d, %s: %v", i+1, s.String(), err)
		}
		if e.after != nil {
			e.after(s)
		}
	}
}

func (e *mover) undo() {
	e.t.Helper()
	for i := len(e.p.Steps) - 1; i >= 0; i-- {
		s := e.p.Steps[i]
		if s.Undo == nil {
			continue
		}
		if err := e.do(*s.Undo, s.String()); err != nil {
			e.t.Fatalf("undoing step %d, %s: %v", i+1, s.String(), err)
		}
		if e.back != nil {
			e.back(s)
		}
	}
}

func (e *mover) do(a plan.Action, title string) error {
	ctx := context.Background()
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if len(a.Session) > 0 { // the connection has settings of its own
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close()
	}()
	for _, s := range a.Session {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	one := func(query string) (n int64, err error) {
		if err := conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return 0, fmt.Errorf("%s: %w", query, err)
		}
		return n, nil
	}
	switch a.Kind {
	case plan.Transactional:
		return e.transact(ctx, conn, a.SQL, 0, 0)
	case plan.Autocommit:
		return e.autocommit(ctx, conn, a, one)
	case plan.Batch:
		return e.batches(ctx, conn, a, one)
	case plan.FillMap:
		return e.fill(ctx, conn, a.Table)
	case plan.Count, plan.Assert:
		return e.found.ask(a, one)
	}
	return nil
}

func (e *mover) transact(ctx context.Context, conn *sql.Conn, statements []string, after, upto int64) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, bind(s, after, upto)); err != nil {
			return fmt.Errorf("%s: %w", bind(s, after, upto), err)
		}
	}
	return tx.Commit()
}

func (e *mover) autocommit(ctx context.Context, conn *sql.Conn, a plan.Action, one func(string) (int64, error)) error {
	for i, query := range a.Applied {
		if n, err := one(query); err != nil {
			return err
		} else if n == 1 {
			continue
		}
		for _, s := range append(slices.Clone(a.Repair), a.SQL[i]) {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		if n, err := one(query); err != nil || n != 1 {
			return fmt.Errorf("applied after it was run: %d, %w, by %s", n, err, query)
		}
	}
	return nil
}

func (e *mover) batches(ctx context.Context, conn *sql.Conn, a plan.Action, one func(string) (int64, error)) error {
	for range 10 {
		for after := int64(math.MinInt64); ; {
			var upto sql.NullInt64
			if err := conn.QueryRowContext(ctx, bind(a.Cursor, after, 0)).Scan(&upto); err != nil {
				return fmt.Errorf("%s: %w", bind(a.Cursor, after, 0), err)
			}
			if !upto.Valid {
				break
			}
			if err := e.transact(ctx, conn, slices.Concat(a.Before, a.SQL, a.After), after, upto.Int64); err != nil {
				return err
			}
			after = upto.Int64
		}
		if a.Remaining == "" {
			return nil
		}
		if n, err := one(a.Remaining); err != nil || n == 0 {
			return err
		}
	}
	return fmt.Errorf("ten passes were not enough: %s", a.Remaining)
}

func (e *mover) fill(ctx context.Context, conn *sql.Conn, table string) error {
	i := slices.IndexFunc(e.p.Keys, func(k plan.Key) bool { return k.Table == table })
	k := e.p.Keys[i]
	c, err := catalog.New(e.db, e.d)
	if err != nil {
		return err
	}
	quoted := func(name string) string {
		parsed, err := catalog.Parse(name)
		if err != nil {
			e.t.Fatal(err)
		}
		return c.Quoted(parsed)
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("INSERT INTO %[1]s (old_id, new_id) SELECT %[2]s, %[3]d + 3 * %[2]s FROM %[4]s WHERE %[2]s < %[5]d",
		quoted(k.Map), c.Quote(k.Column), planted(i, 0), quoted(k.Table), k.Below))
	return err
}

// rows returns all rows of a table as texts, JSON in one form.
func rows(t *testing.T, db *sql.DB, table string) []map[string]string {
	t.Helper()
	found, err := db.Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, v := range values {
			switch v := v.(type) {
			case nil:
				row[columns[i]] = "NULL"
			case []byte:
				row[columns[i]] = string(v)
			case time.Time:
				row[columns[i]] = v.UTC().Format(time.RFC3339Nano)
			default:
				row[columns[i]] = fmt.Sprint(v)
			}
			if columns[i] == "doc" {
				row[columns[i]] = document(row[columns[i]])
			}
		}
		all = append(all, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// document returns JSON in one form, numbers digit by digit; other texts as they are.
func document(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return text
	}
	out, _ := json.Marshal(v) // of what was decoded
	return string(out)
}

// sorted returns rows in an order that depends on nothing but them.
func sorted(rows []map[string]string) []string {
	var lines []string
	for _, r := range rows {
		out, _ := json.Marshal(r) // a map of texts
		lines = append(lines, string(out))
	}
	slices.Sort(lines)
	return lines
}

// each runs a test on the three databases.
func each(t *testing.T, test func(t *testing.T, db *sql.DB, d dialect.Dialect)) {
	for d, open := range map[dialect.Dialect]func(testing.TB) dbtest.Database{dialect.SQLite: dbtest.SQLite, dialect.MySQL: dbtest.MySQL, dialect.Postgres: dbtest.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			database := open(t)
			switch d {
			case dialect.SQLite:
				database.DriverDSN += "?_foreign_keys=on"
			case dialect.Postgres:
				database.DriverDSN += "&default_query_exec_mode=exec" // with no statement prepared before a type changes
			}
			test(t, database.Open(t), d)
		})
	}
}

// handmade returns a report of tables with their keys, all created in the column created_at where they have one, and the references.
func handmade(t testing.TB, db *sql.DB, d dialect.Dialect, keys map[string]string, references []inspect.Reference) *inspect.Report {
	t.Helper()
	c, err := catalog.New(db, d)
	if err != nil {
		t.Fatal(err)
	}
	server, err := c.Server(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := &inspect.Report{Schema: inspect.Schema, Database: inspect.Database(server), References: references}
	names, err := c.Tables(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		table := inspect.Table{Name: name.String()}
		if key := keys[table.Name]; key != "" {
			table.Key = &inspect.Key{Column: key, Bits: 64}
		}
		found, err := c.Table(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range found.Columns {
			if column.Name == "created_at" {
				table.Created = &inspect.Created{Column: column.Name, Type: column.Type, Zoned: column.Zoned}
			}
		}
		r.Tables = append(r.Tables, table)
	}
	return r
}
