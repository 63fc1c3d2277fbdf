// Package mapping gives old rows their new ids: it reads when they were created, and fills a map of old ids to new ones.
package mapping

import (
	"context"
	"database/sql"
	"errors"
	"time"
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
	Clashing   int64 `json:"clashing"`   // new ids that are ids of the same table, too, or below plan.Key.Below

	First    Examples  `json:"first"`             // an id of each
	Earliest time.Time `json:"earliest,omitzero"` // of the rows that are Early; in UTC, and not before the year 1678
}

// Tx is a transaction that run gives: it has the journal's row already, and is committed by run.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
