// Package inspect finds what a migration of keys has to know of a database: the keys and how full their types are, every reference to
// them, declared or not, and all that stands in the way. It writes nothing.
//
// Each of its queries is a transaction of its own: one transaction for all of them would hold the locks that a SELECT takes until its
// end, and every change of the schema, with whatever queues behind it, would wait for that. So rows that are written meanwhile may be in
// one number and not in another. Work is bounded: keys, rates and samples are read through indexes; tables are read as a whole to count
// their rows when they have fewer than 100,000, and to count orphans and the types of owners when they have at most 10 million.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Options say what to look at.
type Options struct {
	Tables     []string // default: all of the current schema, without those of snowkey itself, whose names begin with snowkey_; with "!" in front: not that one
	Models     []any    // GORM models, whose relations are references, also those of the models that they lead to
	References []string // "table.column=table.column" or "table.column:$.json.path=table.column"; with "!" in front: is none
	Sample     int      // values looked at for each undeclared reference; default 1,000, at most 100,000
	Progress   func(done, of int, doing string)
}

const (
	ownPrefix     = "snowkey_"
	defaultSample = 1000
	maxSample     = 100_000
)

// Read reads a database. It looks at the tables named, and at all tables that refer to them: the report's Tables are those that were
// asked for, and its References all that lead to these, from wherever they come, and the declared ones of these tables to others.
//
// The error wraps [ErrOption] or [ErrTable], or is the context's or the database's.
func Read(ctx context.Context, db *gorm.DB, o Options) (*Report, error) {
	i, err := newInspector(db, o)
	if err != nil {
		return nil, err
	}
	if err := i.inspect(ctx); err != nil {
		if errors.Is(err, ErrOption) || errors.Is(err, ErrTable) {
			return nil, err
		}
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) { // a driver may say it in other words
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return nil, fmt.Errorf("inspect: %w", err)
	}
	return i.report, nil
}

// inspector is one inspection.
type inspector struct {
	catalog    *catalog.Catalog
	dialect    dialect.Dialect
	options    Options
	gorm       *gorm.DB
	given      []given                   // of Options.References
	models     models                    // of Options.Models
	read       map[catalog.Name]*subject // by each name that was asked for; nil where there is no table
	subjects   []*subject                // all tables that are looked at
	singulars  map[string]string         // of words, that were put in the singular
	candidates []*candidate              // references, the surest first for each column
	silences   bool                      // no trigger of usual sessions fires in those that rewrite rows
	report     *Report
}

func newInspector(db *gorm.DB, o Options) (*inspector, error) {
	if db == nil || db.Statement == nil || db.Statement.ConnPool == nil {
		return nil, fmt.Errorf("%w: no connection to a database", ErrOption)
	}
	d, ok := dialect.Lookup(db.Name())
	if !ok {
		return nil, fmt.Errorf("%w: the dialect is %q, want mysql, postgres or sqlite", ErrOption, db.Name())
	}
	if o.Sample < 0 || o.Sample > maxSample {
		return nil, fmt.Errorf("%w: a sample of %d values, want 1 to %d", ErrOption, o.Sample, maxSample)
	}
	o.Sample = cmp.Or(o.Sample, defaultSample)
	// GORM's pools of prepared statements would keep each of the statements, which have numbers in them.
	var pool dialect.Queryer = db.Statement.ConnPool
	switch p := pool.(type) {
	case *gorm.PreparedStmtDB:
		pool = p.ConnPool
	case *gorm.PreparedStmtTX:
		pool = p.Tx
	}
	c, err := catalog.New(pool, d)
	if err != nil {
		return nil, err
	}
	i := &inspector{
		catalog: c, dialect: d, options: o, gorm: db, read: map[catalog.Name]*subject{}, singulars: map[string]string{},
		report: &Report{
			Schema: Schema, Made: time.Now().UTC().Truncate(time.Second), Tables: []Table{}, References: []Reference{}, Obstacles: []Obstacle{},
		},
	}
	for _, text := range o.References {
		t, err := parseGiven(text)
		if err != nil {
			return nil, err
		}
		i.given = append(i.given, t)
	}
	return i, nil
}

func (i *inspector) inspect(ctx context.Context) error {
	server, err := i.catalog.Server(ctx)
	if err != nil {
		return err
	}
	if err := i.checkModules(ctx); err != nil {
		return err
	}
	i.report.Database = Database{Kind: server.Kind, Version: server.Version, Name: server.Name, ID: server.ID}
	for _, step := range []func(context.Context) error{
		i.readTables, i.readModels, i.readKeys,
		i.findDeclared, i.findTold, i.findOfModels, i.findPolymorphic, i.findNamed,
		i.judge, i.findObstacles,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	i.finish()
	return nil
}

// checkModules refuses a database of SQLite with a virtual table whose module is missing in this program: the tables that the module keeps in the file could not be
// told from the application's, and would get new ids.
func (i *inspector) checkModules(ctx context.Context) error {
	if i.dialect != dialect.SQLite {
		return nil
	}
	names, err := i.texts(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'")
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := i.texts(ctx, "SELECT 1 FROM "+i.quote(name)+" LIMIT 0"); err != nil && strings.Contains(err.Error(), "no such module") {
			return fmt.Errorf("the virtual table %s: %w in this program, so that its own tables would be taken for the application's: build the program with the module, FTS5 with go build -tags sqlite_fts5", name, err)
		}
	}
	return nil
}

// readTables reads the tables that are asked for, and those of the current schema, in which references may be.
func (i *inspector) readTables(ctx context.Context) error {
	var asked, left []catalog.Name
	for _, text := range i.options.Tables {
		bare, out := strings.CutPrefix(text, "!")
		name, err := catalog.Parse(bare)
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrOption, text, err)
		}
		if out {
			left = append(left, name)
		} else {
			asked = append(asked, name)
		}
	}
	current, err := i.catalog.Tables(ctx)
	if err != nil {
		return fmt.Errorf("listing the tables: %w", err)
	}
	current = slices.DeleteFunc(current, func(n catalog.Name) bool { return strings.HasPrefix(strings.ToLower(n.Name), ownPrefix) })
	names := slices.Concat(asked, current)
	if len(names) == 0 {
		if hidden, err := i.catalog.Hidden(ctx); err != nil || hidden != "" {
			return cmp.Or(err, errors.New(hidden))
		}
	}
	for n, name := range names {
		i.progress(n, len(names), "reading the definition of "+name.String())
		if n%readAtOnce == 0 {
			if err := i.load(ctx, names[n:min(n+readAtOnce, len(names))]); err != nil {
				return err
			}
		}
		s, err := i.subject(ctx, name)
		if err != nil {
			return err
		}
		if n < len(asked) && s == nil {
			return fmt.Errorf("%w: %s", ErrTable, name)
		}
		if n < len(asked) && s.View != "" {
			return fmt.Errorf("%w: %s is a %s", ErrTable, name, s.View)
		}
		if s != nil && (n < len(asked) || len(asked) == 0) {
			s.wanted = true
		}
	}
	for _, name := range left {
		s, err := i.subject(ctx, name)
		if err != nil {
			return err
		}
		if s == nil {
			return fmt.Errorf("%w: %s", ErrTable, name)
		}
		s.wanted = false
	}
	return nil
}

// readAtOnce is how many tables are read with one round of queries.
const readAtOnce = 50

// load reads tables that were not read yet.
func (i *inspector) load(ctx context.Context, names []catalog.Name) error {
	names = slices.DeleteFunc(slices.Clone(names), func(n catalog.Name) bool {
		_, ok := i.read[n]
		return ok
	})
	tables, err := i.catalog.Load(ctx, names...)
	if err != nil {
		return fmt.Errorf("reading definitions: %w", err)
	}
	for n, t := range tables {
		if t == nil {
			i.read[names[n]] = nil
			continue
		}
		s := i.read[t.Full]
		if s == nil {
			s = &subject{Table: t, words: words(t.Name.Name)}
			i.read[t.Full] = s
			i.read[t.Name] = s
			i.subjects = append(i.subjects, s)
		}
		i.read[names[n]] = s
	}
	return nil
}

// subject returns a table, which is read once; nil when there is none.
func (i *inspector) subject(ctx context.Context, name catalog.Name) (*subject, error) {
	if err := i.load(ctx, []catalog.Name{name}); err != nil {
		return nil, err
	}
	return i.read[name], nil
}

func (i *inspector) progress(done, of int, doing string) {
	if i.options.Progress != nil {
		i.options.Progress(done, of, doing)
	}
}

// finish puts the report in order: tables and references by name, obstacles by table, those of the whole database first.
func (i *inspector) finish() {
	for _, s := range i.subjects {
		if s.wanted {
			i.report.Tables = append(i.report.Tables, s.report)
		}
	}
	for _, c := range i.candidates {
		i.report.References = append(i.report.References, c.Reference)
	}
	slices.SortFunc(i.report.Tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(i.report.References, func(a, b Reference) int {
		return cmp.Or(strings.Compare(a.To, b.To), strings.Compare(a.Table, b.Table), strings.Compare(a.Column, b.Column), strings.Compare(a.Path, b.Path),
			strings.Compare(a.Owner, b.Owner))
	})
	slices.SortStableFunc(i.report.Obstacles, func(a, b Obstacle) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Column, b.Column), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
}
