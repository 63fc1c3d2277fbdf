// Package mapping gives old rows their new ids: it reads when they were created, and fills a map of old ids to new ones.
package mapping

import (
	"context"
	"database/sql"
	"errors"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
)

// ErrRefused says that rows cannot have new ids; the message counts them by reason.
var ErrRefused = errors.New("mapping: rows cannot get new ids")

// Survey is what there is to know of a key's old rows before they are mapped. It is read, nothing is written.
type Survey struct {
	Rows       int64 `json:"rows"`
	Null       int64 `json:"null"`       // without a time
	Zero       int64 `json:"zero"`       // 0000-00-00, or Go's zero time
	Early      int64 `json:"early"`      // before the layout's epoch
	Future     int64 `json:"future"`     // later than now
	Unreadable int64 `json:"unreadable"` // no time that can be read, or none without a zone that is not known
	Inverted   int64 `json:"inverted"`   // rows whose id is greater than that of a row made later: they change places. Not refused
	Crowded    int64 `json:"crowded"`    // rows beyond what the layout has ids for in one unit of the column
	Clashing   int64 `json:"clashing"`   // new ids that are old ids of the same table, too
}

// Look surveys the rows of a key, whose time is read as Fill does. It streams: memory does not grow with the table.
func Look(ctx context.Context, db *sql.DB, p *plan.Plan, k plan.Key) (Survey, error) {
	return Survey{}, errors.ErrUnsupported
}

// Refused returns nil, or an error that wraps ErrRefused and counts what is refused.
func (s Survey) Refused(k plan.Key) error { return errors.ErrUnsupported }

// Tx is a transaction that run gives: it has the journal's row already, and is committed by run.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Filler fills one map in batches of old ids in order. The map table (old_id BIGINT PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE) exists.
type Filler struct{}

// NewFiller returns the filler of a key's map. It reads the state it needs from the map itself, so that a run that was killed goes on.
func NewFiller(ctx context.Context, db *sql.DB, p *plan.Plan, k plan.Key) (*Filler, error) {
	return nil, errors.ErrUnsupported
}

// Fill maps up to rows old ids after a cursor, and returns the last of them; done when there was none. All its writes are in tx.
// After an error, or when tx was not committed, the filler is of no use any more: take a new one.
func (f *Filler) Fill(ctx context.Context, tx Tx, after int64, rows int) (upto int64, mapped int64, done bool, err error) {
	return 0, 0, false, errors.ErrUnsupported
}
