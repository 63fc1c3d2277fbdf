package shard

import (
	"context"
	"time"

	"gorm.io/gorm"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// Expire ends the lease of a router's map as if nothing had confirmed it, and no renewal in the background does.
func Expire(r *Router) {
	r.lease.close()
	s := *r.lease.state.Load()
	s.at -= r.lease.time
	r.lease.state.Store(&s)
}

// Impatient has statements wait for the database no longer than 20 ms. The lease is to be expired before.
func Impatient(r *Router) { r.lease.wait = 20 * time.Millisecond }

// KeepLease returns a router that does nothing but keep the lease of a map.
func KeepLease(store *idshard.Store, m *idshard.Map, lease time.Duration) *Router {
	r := New(Config{})
	r.lease.start(store, Config{Name: "default", Lease: lease}, &state{m: m, at: r.lease.now()})
	return r
}

// Settle has a router take its map for one that all processes have.
func Settle(r *Router) {
	s := *r.lease.state.Load()
	s.since -= s.m.Lease()
	r.lease.state.Store(&s)
}

// Current is the map that a statement gets.
func Current(ctx context.Context, r *Router) (*idshard.Map, error) { return r.current(ctx) }

// Explain is the callback at the end of a statement.
func Explain(r *Router, db *gorm.DB) { r.explain(db) }

// Part returns the name of the table of a shard for a statement of a model, and the name of the shard's database.
func Part(r *Router, db *gorm.DB, value any, index int) (table string, own bool, err error) {
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(value); err != nil {
		return "", false, err
	}
	m, err := r.model(stmt.Schema)
	if err != nil || m == nil {
		return "", false, err
	}
	stmt.ConnPool = db.Statement.ConnPool
	p, err := r.part(stmt, m, r.Map(), index)
	return p.table, p.pool == nil, err
}

// Prolong has a router, which nobody uses yet, keep its map for an hour without a look, and so for longer than moves of rows wait: as if its clock
// stood still.
func Prolong(r *Router) {
	r.lease.close()
	r.lease.time = time.Hour
}
