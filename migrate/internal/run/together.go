package run

import (
	"context"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// together does all of an action's statements in one transaction with the journal's row. Where DDL is part of transactions, so are the
// look at the schema before it and the fingerprint after it; on MySQL there is no DDL in it. Of statements that change rows alone there is none.
func (r *runner) together(ctx context.Context, j *job) error {
	return r.within(ctx, j.action.Session, func(s *session) error {
		fingerprint := r.fingerprint
		defines := r.dialect != dialect.MySQL && slices.ContainsFunc(j.action.SQL, define)
		err := r.commit(ctx, s, j, func(row *journal.Step) (err error) {
			if defines {
				if err := r.still(ctx, s); err != nil {
					return err
				}
			}
			for _, text := range j.action.SQL {
				n, err := s.run(ctx, text)
				if err != nil {
					return err
				}
				row.Rows += n
			}
			if defines {
				if fingerprint, err = r.look(ctx, s); err != nil {
					return err
				}
			}
			row.State = j.end
			if fingerprint == r.fingerprint {
				return nil
			}
			return r.journal.Fingerprint(ctx, s, fingerprint)
		})
		if err == nil {
			r.fingerprint, r.looked = fingerprint, defines
		}
		return err
	})
}

// define tells whether a statement may define something. Those that begin with one of these words change rows, or settings, alone.
func define(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToUpper(word) {
	case "INSERT", "UPDATE", "DELETE", "SET", "ANALYZE":
		return false
	}
	return true
}

// still is same, unless the last thing that was done is a step after which the schema was looked at.
func (r *runner) still(ctx context.Context, db dialect.Queryer) error {
	if r.looked {
		r.looked = false // for another attempt, which comes later
		return nil
	}
	return r.same(ctx, db, "since the last step")
}
