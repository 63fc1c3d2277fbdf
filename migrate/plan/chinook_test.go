package plan_test

import (
	"bytes"
	"testing"

	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// mostLines is how many lines a plan of eleven tables may have for somebody to read it.
const mostLines = 300

// TestTextShort plans the rekey of Chinook, for whose 80 to 130 steps nobody reads thousands of lines.
func TestTextShort(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := open(t, kind)
			migratetest.Chinook(t, s.DB, kind, 100)
			o := plan.Options{Mode: plan.Rekey, Zone: "UTC", Created: map[string]string{}}
			r := s.report()
			for _, table := range r.Tables {
				o.Created[table.Name] = "2025-06-01T00:00:00Z"
			}
			o.Now = made
			p, err := plan.Make(t.Context(), s.DB, r, o)
			if err != nil {
				t.Fatal(err)
			}
			text := textOf(t, p)
			lines := bytes.Count([]byte(text), []byte("\n"))
			t.Logf("%d steps, %d lines", len(p.Steps), lines)
			if lines > mostLines {
				t.Errorf("got %d lines, want at most %d:\n%s", lines, mostLines, text)
			}
		})
	}
}
