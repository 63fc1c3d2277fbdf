package plan_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

var update = flag.Bool("update", false, "write the plans in testdata anew")

// made is when the plans of tests are made.
var made = time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)

// schema is a database of one test.
type schema struct {
	*sql.DB
	t    testing.TB
	kind string
	gorm *gorm.DB
	name string // of the database
	base dbtest.Database
}

// open makes a database with the statements run.
func open(t testing.TB, kind string, statements ...string) *schema {
	t.Helper()
	d := map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres, "sqlite": dbtest.SQLite}[kind](t)
	db := d.Open(t)
	var dialector gorm.Dialector
	switch kind {
	case "mysql":
		dialector = mysql.New(mysql.Config{Conn: db, SkipInitializeWithVersion: true})
	case "postgres":
		dialector = postgres.New(postgres.Config{Conn: db})
	case "sqlite":
		dialector = &sqlite.Dialector{Conn: db}
	}
	g, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	s := &schema{DB: db, t: t, kind: kind, gorm: g, base: d}
	for _, statement := range statements {
		s.exec(statement)
	}
	if kind != "sqlite" {
		s.name = s.text("SELECT " + map[string]string{"mysql": "DATABASE()", "postgres": "current_database()"}[kind])
	}
	return s
}

func (s *schema) exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.ExecContext(s.t.Context(), statement, args...); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

// refused runs a statement that has to fail with a text.
func (s *schema) refused(statement, want string) {
	s.t.Helper()
	if _, err := s.ExecContext(s.t.Context(), statement); err == nil || !strings.Contains(err.Error(), want) {
		s.t.Errorf("%s: got error %v, want one with %q", statement, err, want)
	}
}

// rows returns what a query gives, a row a line.
func (s *schema) rows(query string, args ...any) string {
	s.t.Helper()
	rows, err := s.QueryContext(s.t.Context(), query, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			s.t.Fatal(err)
		}
		for i, v := range values {
			if i > 0 {
				b.WriteString(" | ")
			}
			if b.WriteString(v.String); !v.Valid {
				b.WriteString("NULL")
			}
		}
		b.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

func (s *schema) text(query string, args ...any) string {
	s.t.Helper()
	return strings.TrimSuffix(s.rows(query, args...), "\n")
}

// report inspects the database.
func (s *schema) report(references ...string) *inspect.Report {
	s.t.Helper()
	report, err := inspect.Read(s.t.Context(), s.gorm, inspect.Options{References: references})
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// plan inspects the database and plans.
func (s *schema) plan(o plan.Options) *plan.Plan {
	s.t.Helper()
	if o.Now.IsZero() {
		o.Now = made
	}
	p, err := plan.Make(s.t.Context(), s.DB, s.report(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// executor does the steps of a plan, as package run does but without a journal.
type executor struct {
	*schema
	plan  *plan.Plan
	found counts
	step  func(n int, s plan.Step)       // before each
	hold  func()                         // in each Hold
	still func(queries, before []string) // between the two looks of a Steady
	each  func(statement string)         // after a statement that commits by itself
}

func (s *schema) executor(p *plan.Plan) *executor {
	return &executor{schema: s, plan: p, found: counts{}}
}

// run does the steps up to a number.
func (e *executor) run(upto int) {
	e.t.Helper()
	for i, s := range e.plan.Steps[:upto] {
		if e.step != nil {
			e.step(i, s)
		}
		if err := e.do(s.String(), s.Do); err != nil {
			e.t.Fatalf("step %d, %s: %v", i+1, s.String(), err)
		}
	}
}

// undo undoes the steps from a number down.
func (e *executor) undo(from int) {
	e.t.Helper()
	for i := from - 1; i >= 0; i-- {
		if s := e.plan.Steps[i]; s.Undo != nil {
			if err := e.do(s.String(), *s.Undo); err != nil {
				e.t.Fatalf("undo of step %d, %s: %v", i+1, s.String(), err)
			}
		}
	}
}

func (e *executor) do(title string, a plan.Action) (err error) {
	ctx := e.t.Context()
	conn, err := e.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	for _, text := range a.Session {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	switch a.Kind {
	case plan.Transactional:
		return e.transact(ctx, conn, a)
	case plan.Autocommit:
		return e.autocommit(ctx, conn, a)
	case plan.Count, plan.Assert:
		return e.found.ask(a, func(query string) (n int64, err error) {
			if err := conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
				return 0, fmt.Errorf("%s: %w", query, err)
			}
			return n, nil
		})
	case plan.AssertStable:
		all := queries(a)
		before := make([]string, len(all))
		for i, query := range all {
			before[i] = e.text(query)
		}
		if e.still != nil {
			e.still(all, before)
		}
		for i, query := range all {
			if e.text(query) != before[i] {
				return errors.New(a.OnFailure)
			}
		}
	case plan.Hold:
		if e.hold != nil {
			e.hold()
		}
	default:
		return fmt.Errorf("kind %s", a.Kind)
	}
	return nil
}

func (e *executor) transact(ctx context.Context, conn *sql.Conn, a plan.Action) error {
	for _, text := range append(append([]string{"BEGIN"}, a.SQL...), "COMMIT") {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

func (e *executor) autocommit(ctx context.Context, conn *sql.Conn, a plan.Action) error {
	for i, query := range a.Applied {
		var applied int
		if err := conn.QueryRowContext(ctx, query).Scan(&applied); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		} else if applied == 1 {
			continue
		}
		if _, err := conn.ExecContext(ctx, a.SQL[i]); err != nil {
			return fmt.Errorf("%s: %w", a.SQL[i], err)
		}
		if e.each != nil {
			e.each(a.SQL[i])
		}
		if err := conn.QueryRowContext(ctx, query).Scan(&applied); err != nil || applied != 1 {
			return fmt.Errorf("%s: got %d, %v after %s", query, applied, err, a.SQL[i])
		}
	}
	return nil
}

// same compares texts, and shows the first line that differs.
func same(t testing.TB, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	gots, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gots), len(wants)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(gots) {
			g = gots[i]
		}
		if i < len(wants) {
			w = wants[i]
		}
		if g != w {
			t.Errorf("%s, line %d:\ngot  %s\nwant %s", what, i+1, g, w)
			return
		}
	}
}

// golden compares a plan as people read it with the file of a name in testdata that ends in .sql, and its steps with the one that ends in .json, but for what
// each database has of its own.
func (s *schema) golden(p *plan.Plan, name string) {
	s.t.Helper()
	copied := *p
	copied.Steps = append([]plan.Step(nil), p.Steps...)
	for i := range copied.Steps {
		step := &copied.Steps[i]
		if step.Rows != 0 || step.Bytes != 0 || step.Disk != 0 { // as the database estimates, or not yet
			for _, n := range []*int64{&step.Rows, &step.Bytes, &step.Disk} {
				if *n != 0 || n == &step.Rows {
					*n = 1_234_567
				}
			}
		}
	}
	copied.Fingerprint = strings.Repeat("0", 64)
	copied.Database.Name, copied.Database.ID, copied.Database.Version = "shop", "1", strings.Fields(p.Database.Version)[0]+" 1.2.3"
	text, err := copied.Text()
	if err != nil {
		s.t.Fatal(err)
	}
	var steps bytes.Buffer
	encoder := json.NewEncoder(&steps)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(copied.Steps); err != nil {
		s.t.Fatal(err)
	}
	read := string(text)
	if head, rest, ok := strings.Cut(read, "\n-- plan: "); ok {
		read = head + "\n-- plan: 0" + rest[64:]
	}
	for file, got := range map[string]string{name + ".sql": read, name + ".json": steps.String()} {
		if s.name != "" {
			got = strings.ReplaceAll(got, s.name, "shop")
		}
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				s.t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		same(s.t, path, got, string(want))
	}
}
