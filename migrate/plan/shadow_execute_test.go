package plan_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// changer does a plan's steps: as little of package run as these tests need.
type changer struct {
	t  *testing.T
	db *sql.DB
	d  dialect.Dialect
	p  *plan.Plan
}

// reportOf is what inspect would find in a database whose references are all declared, and whose times are in created_at.
func reportOf(t *testing.T, db *sql.DB, d dialect.Dialect, more ...inspect.Reference) *inspect.Report {
	t.Helper()
	c, err := catalog.New(db, d)
	must(t, err)
	server, err := c.Server(t.Context())
	must(t, err)
	report := &inspect.Report{Schema: inspect.Schema, Database: inspect.Database(server), References: more}
	names, err := c.Tables(t.Context())
	must(t, err)
	var tables []*catalog.Table
	for _, n := range names {
		table, err := c.Table(t.Context(), n)
		must(t, err)
		tables = append(tables, table)
		found := inspect.Table{Name: table.Name.String(), Rows: table.Rows}
		for _, i := range table.Indexes {
			for _, col := range table.Columns {
				if i.Primary && len(i.Columns) == 1 && col.Name == i.Columns[0] && col.Class == catalog.Integer {
					found.Key = &inspect.Key{Column: col.Name, Bits: col.Bits}
				}
				if col.Name == "created_at" {
					found.Created = &inspect.Created{Column: col.Name, Zoned: true}
				}
			}
		}
		report.Tables = append(report.Tables, found)
	}
	references, err := c.References(t.Context(), tables...)
	must(t, err)
	name := func(full catalog.Name) string {
		for _, table := range tables {
			if table.Full == full {
				return table.Name.String()
			}
		}
		return full.String()
	}
	for _, r := range references {
		for i := range r.Columns {
			report.References = append(report.References, inspect.Reference{Table: name(r.Child), Column: r.Columns[i], To: name(r.Parent), ToColumn: r.To[i],
				Origin: inspect.Declared, Name: r.Name, Confidence: inspect.Certain})
		}
	}
	return report
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *changer) exec(statements ...string) {
	e.t.Helper()
	for _, s := range statements {
		if _, err := e.db.ExecContext(e.t.Context(), s); err != nil {
			e.t.Fatalf("%s: %v", s, err)
		}
	}
}

// number returns the number that a query finds.
func (e *changer) number(query string) int64 {
	e.t.Helper()
	var n sql.NullInt64
	if err := e.db.QueryRowContext(e.t.Context(), query).Scan(&n); err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
	return n.Int64
}

// do does steps from one on, up to and with the first one that stop says, and returns the next one's place.
func (e *changer) do(from int, stop func(plan.Step) bool) int {
	e.t.Helper()
	for i := from; i < len(e.p.Steps); i++ {
		s := e.p.Steps[i]
		e.action(s.String(), s.Do)
		if stop != nil && stop(s) {
			return i + 1
		}
	}
	return len(e.p.Steps)
}

// undo undoes the steps before a place, the last first.
func (e *changer) undo(before int) {
	e.t.Helper()
	for i := before - 1; i >= 0; i-- {
		if s := e.p.Steps[i]; s.Undo != nil {
			e.action("undo: "+s.String(), *s.Undo)
		}
	}
}

func (e *changer) action(title string, a plan.Action) {
	e.t.Helper()
	var err error
	switch a.Kind {
	case plan.Transactional:
		_, err = e.together(a)
	case plan.Autocommit:
		if e.number(a.Applied[0]) != 0 {
			if strings.HasPrefix(title, "undo: ") { // the undo of the swap has done it
				return
			}
			e.t.Fatalf("%s: applied before it is done", title)
		}
		err = e.retried(func(ctx context.Context, c *sql.Conn) error {
			for _, s := range append(append([]string{}, a.Session...), a.SQL...) {
				if _, err := c.ExecContext(ctx, s); err != nil {
					return errors.Join(fmt.Errorf("%s: %w", s, err), e.repair(ctx, c, a))
				}
			}
			return nil
		})
		if err == nil && e.number(a.Applied[0]) != 1 {
			e.t.Fatalf("%s: not applied after it is done", title)
		}
	case plan.Batch:
		err = e.batches(a)
	case plan.FillMap:
		err = e.mapRows(a.Table)
	case plan.Count, plan.Assert:
		err = counts{}.ask(a, func(query string) (int64, error) { return e.number(query), nil })
	case plan.AssertStable:
		for _, query := range queries(a) {
			if _, err := e.db.ExecContext(e.t.Context(), query); err != nil {
				e.t.Fatalf("%s: %v", query, err)
			}
		}
	}
	if err != nil {
		e.t.Fatalf("%s: %v", title, err)
	}
}

func (e *changer) repair(ctx context.Context, c *sql.Conn, a plan.Action) error {
	for _, s := range a.Repair {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// retried runs something on a connection until it gets its locks.
func (e *changer) retried(f func(context.Context, *sql.Conn) error) error {
	ctx := e.t.Context()
	wait := map[dialect.Dialect]string{dialect.Postgres: "SET lock_timeout = '1s'", dialect.MySQL: "SET lock_wait_timeout = 2"}[e.d]
	var err error
	for range 30 {
		err = func() error {
			c, err := e.db.Conn(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := c.ExecContext(ctx, wait); err != nil {
				return err
			}
			err = f(ctx, c)
			// The connection keeps settings of the session: it is not given back.
			_ = c.Raw(func(any) error { return driver.ErrBadConn })
			return err
		}()
		var p *pgconn.PgError
		var m *mysql.MySQLError
		if !errors.As(err, &p) && !errors.As(err, &m) || p != nil && p.Code != "55P03" && p.Code != "40P01" && p.Code != "40001" || m != nil && m.Number != 1205 && m.Number != 1213 {
			return err
		}
	}
	return err
}

func (e *changer) together(a plan.Action) (rows int64, err error) {
	err = e.retried(func(ctx context.Context, c *sql.Conn) error {
		rows = 0
		for _, s := range a.Session {
			if _, err := c.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // nothing after Commit
		for _, s := range a.SQL {
			result, err := tx.ExecContext(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
			n, _ := result.RowsAffected()
			rows += n
		}
		return tx.Commit()
	})
	return rows, err
}

func (e *changer) batches(a plan.Action) error {
	for range 10 {
		for after := int64(-1 << 63); ; {
			var upto sql.NullInt64
			cursor := strings.NewReplacer(":after", strconv.FormatInt(after, 10), ":rows", "97").Replace(a.Cursor)
			if err := e.db.QueryRowContext(e.t.Context(), cursor).Scan(&upto); err != nil {
				return fmt.Errorf("%s: %w", cursor, err)
			}
			if !upto.Valid {
				break
			}
			batch := a
			batch.SQL = nil
			for _, s := range a.SQL {
				batch.SQL = append(batch.SQL, strings.NewReplacer(":after", strconv.FormatInt(after, 10), ":upto", strconv.FormatInt(upto.Int64, 10)).Replace(s))
			}
			if _, err := e.together(batch); err != nil {
				return err
			}
			after = upto.Int64
		}
		if a.Remaining == "" || e.number(a.Remaining) == 0 {
			return nil
		}
	}
	return nil
}

// mapRows gives the rows that have none new ids.
func (e *changer) mapRows(table string) error {
	var k plan.Key
	for _, each := range e.p.Keys {
		if each.Table == table {
			k = each
		}
	}
	c, err := catalog.New(e.db, e.d)
	must(e.t, err)
	name := func(text string) string {
		n, err := catalog.Parse(text)
		must(e.t, err)
		return c.Quoted(n)
	}
	layout, err := idgen.ParseLayout(e.p.Layout)
	must(e.t, err)
	rows, err := e.db.QueryContext(e.t.Context(), fmt.Sprintf("SELECT t.%s, t.%s FROM %s t LEFT JOIN %s m ON m.old_id = t.%s WHERE m.old_id IS NULL AND t.%s < %d ORDER BY 1",
		c.Quote(k.Column), c.Quote(k.Created), name(table), name(k.Map), c.Quote(k.Column), c.Quote(k.Column), k.Below))
	if err != nil {
		return err
	}
	defer rows.Close()
	used := map[int64]int64{}
	var values []string
	for rows.Next() {
		var id int64
		var at time.Time
		if err := rows.Scan(&id, &at); err != nil {
			return err
		}
		made, err := layout.Compose(idgen.Parts{Time: at, Node: e.p.Node, Sequence: used[at.UnixMilli()]})
		if err != nil {
			return err
		}
		used[at.UnixMilli()]++
		values = append(values, fmt.Sprintf("(%d, %d)", id, made))
	}
	if err := rows.Err(); err != nil || len(values) == 0 {
		return err
	}
	_, err = e.db.ExecContext(e.t.Context(), "INSERT INTO "+name(k.Map)+" (old_id, new_id) VALUES "+strings.Join(values, ", "))
	return err
}

// mapOf returns the map of a table, whose name needs quotes or not.
func (e *changer) mapOf(table string) string {
	c, err := catalog.New(e.db, e.d)
	must(e.t, err)
	for _, k := range e.p.Keys {
		if name, err := catalog.Parse(k.Table); err == nil && name.Name == table {
			n, err := catalog.Parse(k.Map)
			must(e.t, err)
			return c.Quoted(n)
		}
	}
	e.t.Fatalf("no map of %s", table)
	return ""
}
