package run

import (
	"context"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// transactional does all of an action's statements in one transaction with the journal's row. Where DDL is part of transactions, so are the
// look at the schema before it and the fingerprint after it; on MySQL there is no DDL in it. Of statements that change rows alone there is none.
func (r *runner) transactional(ctx context.Context, t *task) error {
	return r.within(ctx, t.action.Session, func(s *session) error {
		fingerprint := r.fingerprint
		defines := r.dialect != dialect.MySQL && !t.action.RowsOnly
		err := r.commitStep(ctx, s, t, func(row *journal.Step) (err error) {
			if defines {
				if err := r.recheckSchema(ctx, s); err != nil {
					return err
				}
			}
			for _, text := range t.action.SQL {
				n, err := s.run(ctx, text)
				if err != nil {
					return err
				}
				if r.dialect != dialect.SQLite || !defines { // whose DDL gives the number of the statement before
					row.Rows += n
				}
			}
			if defines {
				if fingerprint, err = r.readFingerprint(ctx, s); err != nil {
					return err
				}
			}
			row.State = t.end
			if fingerprint == r.fingerprint {
				return nil
			}
			return r.journal.Fingerprint(ctx, s, fingerprint)
		})
		if err == nil {
			r.fingerprint, r.checked = fingerprint, defines
		}
		return err
	})
}

// recheckSchema is checkSchema, unless the last thing that was done is a step after which the schema was looked at.
func (r *runner) recheckSchema(ctx context.Context, db dialect.Queryer) error {
	if r.checked {
		r.checked = false // for another attempt, which comes later
		return nil
	}
	return r.checkSchema(ctx, db, "since the last step")
}
