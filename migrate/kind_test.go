package migrate_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
)

// A plan for a database of another kind is refused as one for another database.
func TestOtherKind(t *testing.T) {
	d := open(t, "sqlite")
	d.library()
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{})
	p.Database.Kind = "postgres"
	for name, do := range map[string]func(context.Context, *gorm.DB, *migrate.Plan, migrate.RunOptions) (migrate.Outcome, error){"run": migrate.Run, "rollback": migrate.Rollback} {
		if _, err := do(t.Context(), d.gorm, p, migrate.RunOptions{}); !errors.Is(err, run.ErrDatabase) {
			t.Errorf("%s: got %v, want ErrDatabase", name, err)
		}
	}
	if _, err := migrate.Verify(t.Context(), d.gorm, p, migrate.VerifyOptions{}); !errors.Is(err, run.ErrDatabase) {
		t.Errorf("verify: got %v, want ErrDatabase", err)
	}
}
