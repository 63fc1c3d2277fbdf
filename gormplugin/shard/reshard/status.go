package reshard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// Status is the journal's of a map: nil when no plan was begun.
type Status struct {
	Plan  *Plan     `json:"plan"`
	State string    `json:"state"`
	Steps []string  `json:"steps"` // the state of each
	At    time.Time `json:"at"`    // of the last change
}

// UnmarshalJSON reads what encoding/json has written of a plan. The error wraps [ErrPlan] for a map that is not valid.
func (p *Plan) UnmarshalJSON(text []byte) error {
	type fields Plan // without this method
	read := struct {
		*fields
		Before json.RawMessage `json:"before"`
		Next   json.RawMessage `json:"next"`
	}{fields: (*fields)(p)}
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("%w: %w", ErrPlan, err)
	}
	var err error
	if p.Before, err = idshard.ParseMap(read.Before); err != nil {
		return fmt.Errorf("%w: the map before: %w", ErrPlan, err)
	}
	if p.Next, err = idshard.ParseMap(read.Next); err != nil {
		return fmt.Errorf("%w: the next map: %w", ErrPlan, err)
	}
	return nil
}

// ReadStatus reads it. The error is the database's.
func ReadStatus(ctx context.Context, w World, name string) (*Status, error) {
	db, err := w.database("")
	if err != nil {
		return nil, err
	}
	row, err := readJournal(ctx, db, name)
	if err != nil || row == nil {
		return nil, err
	}
	s := &Status{Plan: &row.plan, State: row.state, At: row.at}
	for _, step := range row.steps {
		s.Steps = append(s.Steps, step.State)
	}
	return s, nil
}
