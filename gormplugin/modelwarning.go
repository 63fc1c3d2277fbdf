package gormplugin

import (
	"context"
	"encoding"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// Traps of models, which the plugin warns of: keys that JavaScript rounds, and columns that go on counting. doc.go says when the database is asked,
// and why not before the INSERT. MySQL's LastInsertId is the key of the last row where the column counts, also of a key that was given, and 0 elsewhere.
// An integer key of SQLite counts in any case.

// traps are what a plan needs to warn once.
type traps struct {
	integer *key        // the first one; nil for none
	rounded *key        // in JSON a number that JavaScript rounds; nil for none
	warned  atomic.Bool // of it
}

// warns reports whether anybody hears of traps.
func (p *Plugin) warns(ctx context.Context) bool {
	return !p.unwarned && p.log().Enabled(ctx, slog.LevelWarn)
}

func (p *Plugin) log() *slog.Logger {
	if p.logger == nil {
		return slog.Default()
	}
	return p.logger
}

// warnRounded warns once that JavaScript rounds the keys of a model.
func (p *Plugin) warnRounded(s *statement) {
	k := s.plan.traps.rounded
	if k == nil || s.plan.traps.warned.Load() || !slices.ContainsFunc(s.rows, func(r row) bool { return r.made != 0 }) || !p.warns(s.ctx) {
		return
	}
	if s.plan.traps.warned.CompareAndSwap(false, true) {
		p.log().WarnContext(s.ctx, "snowkey: JavaScript rounds the keys of a model, which are numbers above 2^53 in JSON; make the field a sqltype.ID, tag it json:\",string\", or take the layout js53",
			"model", s.plan.schema.Name, "field", k.field.Name, "type", k.field.FieldType.String())
	}
}

// find finds the keys of a schema that traps are of; the schema is nil of a table without a model.
func (t *traps) find(s *schema.Schema, keys []*key) {
	for _, k := range keys {
		if !k.isInteger() {
			continue
		}
		if t.integer == nil {
			t.integer = k
		}
		if s != nil && t.rounded == nil && !marshals(s.ModelType) && k.isRounded() {
			t.rounded = k
		}
	}
}

// isRounded reports whether a key of integers is a number in JSON that JavaScript rounds.
func (k *key) isRounded() bool {
	layout, ok := k.source.layout()
	if !ok || marshals(k.of) { // what has no layout counts from 1
		return false
	}
	tag := k.field.Tag.Get("json")
	_, options, _ := strings.Cut(tag, ",")
	return layout.Width() > javaScriptBits && tag != "-" && !slices.Contains(strings.Split(options, ","), "string")
}

// javaScriptBits is how many bits an integer has that JavaScript does not round.
const javaScriptBits = 53

// marshals reports whether a type has a JSON of its own.
func marshals(of reflect.Type) bool {
	pointer := reflect.PointerTo(of)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// watchCounter has the INSERT report whether its table counts, where that is not known.
func (p *Plugin) watchCounter(db *gorm.DB, s *statement) {
	name := db.Name()
	if s.plan.traps.integer == nil || name != "mysql" && name != "postgres" || db.DryRun || s.upsert != nil || len(s.rows) == 0 || !p.warns(s.ctx) {
		return
	}
	if _, known := p.asked.Load(s.of.Table); known {
		return
	}
	s.watched = true
	if s.of.Result == nil && name == "mysql" {
		s.of.Result, s.ownResult = gorm.WithResult(), true
	}
}

// warnCounter warns once that a table counts, after an INSERT that has been watched. Nothing that goes wrong here fails the statement.
func (p *Plugin) warnCounter(db *gorm.DB, s *statement) {
	if !s.watched {
		return
	}
	counts, known := false, false
	if db.Error == nil {
		if db.Name() == "mysql" {
			counts, known = s.counted()
		} else {
			counts, known = s.counts(db), true
		}
	}
	s.watched = false
	if s.ownResult {
		s.of.Result, s.ownResult = nil, false
	}
	if !known { // such as after a RETURNING
		return
	}
	if _, known := p.asked.LoadOrStore(s.of.Table, true); counts && !known {
		p.log().WarnContext(s.ctx, "snowkey: the database still counts a key that the plugin makes, so that other writers get keys from the counter; a plan ends that, whose run "+
			"refuses inserts of this program until run --continue",
			"table", s.of.Table, "column", s.plan.traps.integer.column, "command", "snowkey migrate plan --db DSN --mode widen --table "+s.of.Table+" --out widen.sql")
	}
}

// counted reports whether MySQL has answered with the key of the last row.
func (s *statement) counted() (counts, known bool) {
	if s.of.Result.Result == nil {
		return false, false
	}
	last, err := s.of.Result.Result.LastInsertId()
	made, other := s.plan.traps.integer.id(s.ctx, &s.rows[len(s.rows)-1])
	return last == made, err == nil && other == nil
}

// counts asks PostgreSQL.
func (s *statement) counts(db *gorm.DB) bool {
	exec := func(text string) bool {
		_, err := savepointPool(s.of.ConnPool).ExecContext(s.ctx, text)
		return err == nil
	}
	_, within := s.of.ConnPool.(gorm.TxCommitter)
	if within && !exec("SAVEPOINT snowkey_counter") {
		return false
	}
	t, err := readTable(db)
	if within {
		if err != nil {
			exec("ROLLBACK TO SAVEPOINT snowkey_counter")
		}
		exec("RELEASE SAVEPOINT snowkey_counter")
	}
	if err != nil {
		return false
	}
	c := t.Column(s.plan.traps.integer.column, false)
	return c != nil && c.Auto != ""
}

// savepointPool returns a pool without GORM's cache of prepared statements, which is for statements that come again.
func savepointPool(of gorm.ConnPool) gorm.ConnPool {
	if prepared, ok := of.(*gorm.PreparedStmtTX); ok {
		return prepared.Tx
	}
	return of
}
