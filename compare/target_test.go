package compare_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestCheckTarget(t *testing.T) {
	for _, tt := range []struct{ text, second, want string }{
		{"sqlite::memory:", "", ""},
		{"private:mariadb?innodb_buffer_pool_size=16M", "", ""},
		{"private:postgres", "postgres://u@h/d", ""},
		{"mysql:u@tcp(h)/d", "mysql:u@tcp(i)/d", ""},
		{"oracle:x", "", "unknown scheme"},
		{"private:oracle", "", "unknown private server"},
		{"private:mysql?port=1", "", "keeps the server private"},
		{"sqlite:/nonexistent/x.db", "", "make the folder first"},
		{"mysql:u@tcp(h)/d", "private:mysql", "cannot be a private one"},
		{"mysql:u@tcp(h)/d", "sqlite:x.db", "of the kind sqlite, and the first of mysql"},
		{"private:mysql", "postgres://u@h/d", "of the kind postgres, and the first of mysql"},
		{"mysql:u@tcp(h)/d", "oracle:x", "unknown scheme"},
	} {
		err := compare.CheckTarget(tt.text, tt.second)
		if tt.want == "" && err == nil {
			continue
		}
		if !errors.Is(err, compare.ErrDatabase) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %q: got %v, want ErrDatabase with %q", tt.text, tt.second, err, tt.want)
		}
	}
}

// What runs that were killed have left is found on both servers, and nothing else.
func TestLeftovers(t *testing.T) {
	first, second := dbtest.SQLite(t), dbtest.SQLite(t)
	for _, database := range []dbtest.Database{first, second} {
		for _, name := range []string{"snowkey_compare_01234567_000_rows", "snowkey_compares", "theirs"} {
			if _, err := database.Open(t).ExecContext(t.Context(), "CREATE TABLE "+name+" (id INTEGER)"); err != nil {
				t.Fatal(err)
			}
		}
	}
	target, err := compare.OpenTarget(t.Context(), first.DSN, second.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	left, err := target.Leftovers(t.Context())
	want := []string{"snowkey_compare_01234567_000_rows", "snowkey_compare_01234567_000_rows (on " + second.DSN}
	same := func(got, want string) bool { return strings.HasPrefix(got, want) }
	if err != nil || !slices.EqualFunc(left, want, same) {
		t.Errorf("got %q, %v, want %q", left, err, want)
	}
}

// Sessions with the two servers of a pair count odd and even numbers, whatever the servers' own settings are.
func TestPairOfMySQL(t *testing.T) {
	t.Parallel()
	dbtest.Long(t)
	target, err := compare.OpenTarget(t.Context(), dbtest.MySQL(t).DSN, dbtest.MySQL(t).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	profile := small
	profile.Rounds, profile.Slow = 1, time.Minute
	r, err := compare.Run(t.Context(), compare.Config{Targets: []*compare.Target{target}, Strategies: choose(t, "flickr", "autoincrement"), Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Databases[0].Strategies {
		requireMeasured(t, s, profile.Rounds)
	}
	sample := r.Databases[0].Strategies[1].Key.Sample
	first, err1 := strconv.Atoi(sample[0])
	second, err2 := strconv.Atoi(sample[1])
	if err := errors.Join(err1, err2); err != nil || second != first+1 {
		t.Errorf("auto-increment gave %q, %v, want one after the other as without a pair", sample, err)
	}
}
