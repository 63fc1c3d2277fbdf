package strategy_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestSequence draws many numbers with one statement, from a sequence that two processes have, until it is dropped.
func TestSequence(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			pool := open(t, made(t))
			at := strategy.Environment{DB: pool, Kind: name, Prefix: prefix, Processes: 2}
			var last strategy.Key
			var both []strategy.Keys
			for at.Process = range 2 {
				keys, err := byName(t, "sequence").Open(t.Context(), at)
				if err != nil {
					t.Fatal(err)
				}
				filled, err := keys.Fill(t.Context(), 1500)
				if err != nil || len(filled) != 1500 || !slices.IsSorted(filled) || filled[0] <= last {
					t.Errorf("Fill: got %d keys, %v, want 1500 in order and above %s", len(filled), err, keys.Text(last))
				}
				last, both = filled[1499], append(both, keys)
				if got, err := keys.Fill(t.Context(), 0); len(got) != 0 || err != nil {
					t.Errorf("Fill of nothing: got %v, %v", got, err)
				}
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if key, err := both[0].Next(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("Next with a context that has ended: got %s, %v, want %v", both[0].Text(key), err, context.Canceled)
			}
			if _, err := pool.Exec("DROP SEQUENCE " + prefix + "_sequence"); err != nil {
				t.Fatal(err)
			}
			if key, err := both[0].Next(t.Context()); err == nil {
				t.Errorf("Next of a sequence that is gone: got %s", both[0].Text(key))
			}
			if got, err := both[1].Fill(t.Context(), 5); err == nil {
				t.Errorf("Fill from a sequence that is gone: got %v", got)
			}
		})
	}
}

// TestSequenceElsewhere has servers that do not run here: MySQL, which has no sequences, and MariaDB without the engine SEQUENCE, which makes
// the rows for many numbers.
func TestSequenceElsewhere(t *testing.T) {
	pool, server, err := sqlmock.New(sqlmock.QueryMatcherOption(sqlmock.QueryMatcherEqual))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	at := strategy.Environment{DB: pool, Kind: "mysql", Prefix: prefix, Processes: 1}
	version := func(v string) {
		server.ExpectQuery("SELECT VERSION()").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow(v))
	}

	version("8.0.36")
	if keys, err := byName(t, "sequence").Open(t.Context(), at); keys != nil || !errors.Is(err, strategy.ErrUnavailable) {
		t.Errorf("MySQL: got %v, %v, want ErrUnavailable", keys, err)
	}

	version("10.11.6-MariaDB")
	server.ExpectQuery("SELECT seq FROM seq_1_to_1").WillReturnError(errors.New("Error 1146 (42S02): Table 'x.seq_1_to_1' doesn't exist"))
	server.ExpectExec("CREATE SEQUENCE IF NOT EXISTS `" + prefix + "_sequence`").WillReturnResult(sqlmock.NewResult(0, 0))
	keys, err := byName(t, "sequence").Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keys.Fill(t.Context(), 2); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Fill: got %v, %v, want ErrUnsupported", got, err)
	}
	server.ExpectQuery("SELECT NEXT VALUE FOR `" + prefix + "_sequence`").WillReturnRows(sqlmock.NewRows([]string{"n"}).AddRow(7))
	if key, err := keys.Next(t.Context()); err != nil || keys.Text(key) != "7" {
		t.Errorf("Next: got %s, %v, want 7", keys.Text(key), err)
	}
	if err := server.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}
