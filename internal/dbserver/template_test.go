package dbserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestStartCopy starts servers at once where there is no template yet, and then one more.
func TestStartCopy(t *testing.T) {
	dbtest.Long(t)
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			templates := t.TempDir()
			unfinished := filepath.Join(templates, ".unfinished-before") // as a process that is killed leaves it
			if err := os.Mkdir(unfinished, 0o700); err != nil {
				t.Fatal(err)
			}
			errs := make(chan error)
			for range 2 {
				go func() { errs <- startCopy(t, templates, kind.name, func(*dbserver.Server) {}) }()
			}
			err := errors.Join(<-errs, <-errs)
			if unavailable := new(dbserver.UnavailableError); errors.As(err, &unavailable) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(unfinished); err != nil { // which is empty
				t.Error(err)
			}
			made, err := os.ReadDir(templates)
			if err != nil || len(made) != 1 || !strings.HasPrefix(made[0].Name(), kind.name+"-") {
				t.Fatalf("got %v and error %v, want one template of %s", made, err, kind.name)
			}
			// What is in the template is in the server's folder, so that it was not made anew.
			mark := filepath.Join(templates, made[0].Name(), "mark")
			want := strings.Repeat("\x00", 300<<10) + "of the template" + strings.Repeat("\x00", 600<<10)
			if err := os.WriteFile(mark, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
			err = startCopy(t, templates, kind.name, func(server *dbserver.Server) {
				got, err := os.ReadFile(filepath.Join(server.Dir(), "data", "mark"))
				if err != nil || string(got) != want {
					t.Errorf("got %d bytes and error %v, want the %d of the template", len(got), err, len(want))
				}
				if got, err := query(t.Context(), database(t, server).Open(t), kind.setting); err != nil || got != "on" {
					t.Errorf("got setting %q and error %v, want on", got, err)
				}
				if err := errors.Join(server.Kill(), server.Start()); err != nil {
					t.Error(err)
				}
			}, kind.harmless)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// startCopy starts a server, makes a database on it, lets the server be used, and closes it.
func startCopy(t *testing.T, templates, kind string, use func(*dbserver.Server), settings ...string) error {
	server, err := dbserver.StartCopy(t.Context(), templates, kind, settings...)
	if err != nil {
		return err
	}
	if _, err = server.Database(t.Context(), "first"); err == nil {
		use(server)
	}
	return errors.Join(err, server.Close())
}
