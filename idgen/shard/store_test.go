package shard_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestStore wants what was written to be read, and the errors of what is not there.
func TestStore(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d shard.Dialect) {
		s, m := shard.NewStore(db, d), newMap(t)
		if _, err := s.Load(t.Context(), "a"); !errors.Is(err, shard.ErrTable) || !strings.Contains(err.Error(), "CREATE TABLE") {
			t.Errorf("got %v without a table, want ErrTable and the statement that makes it", err)
		}
		if err := s.Create(t.Context(), "a", m); !errors.Is(err, shard.ErrTable) {
			t.Errorf("got %v without a table, want ErrTable", err)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := s.Setup(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if _, err := s.Load(t.Context(), "a"); !errors.Is(err, shard.ErrNoMap) {
			t.Errorf("got %v, want ErrNoMap", err)
		}
		if _, err := s.Version(t.Context(), "a"); !errors.Is(err, shard.ErrNoMap) {
			t.Errorf("got %v, want ErrNoMap", err)
		}
		next, err := m.Grow(shard.Shard{Name: "x", Suffix: "_x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Swap(t.Context(), "a", next); !errors.Is(err, shard.ErrVersion) {
			t.Errorf("got %v of a second version without a first, want ErrVersion", err)
		}
		if err := errors.Join(s.Create(t.Context(), "a", m), s.Create(t.Context(), "b", m), s.Swap(t.Context(), "a", next)); err != nil {
			t.Fatal(err)
		}
		if err := s.Swap(t.Context(), "a", next); !errors.Is(err, shard.ErrVersion) {
			t.Errorf("got %v of a version that is there, want ErrVersion", err)
		}
		if err := s.Create(t.Context(), "a", m); !errors.Is(err, shard.ErrVersion) {
			t.Errorf("got %v of a map that is there, want ErrVersion", err)
		}
		got, err := s.Load(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(next)
		if string(a) != string(b) {
			t.Errorf("got  %s\nwant %s", a, b)
		}
		if v, err := s.Version(t.Context(), "a"); v != 2 || err != nil {
			t.Errorf("got version %d, %v, want 2", v, err)
		}
		if names, err := s.Names(t.Context()); !slices.Equal(names, []string{"a", "b"}) || err != nil {
			t.Errorf("got %q, %v", names, err)
		}
		for _, name := range []string{"", " a", "a ", "ä", strings.Repeat("a", 65)} {
			if _, err := s.Load(t.Context(), name); !errors.Is(err, shard.ErrMap) {
				t.Errorf("got %v of the name %q, want ErrMap", err, name)
			}
		}
		execute(t, db, "UPDATE snowkey_shards SET map = '{}' WHERE version = 2")
		if _, err := s.Load(t.Context(), "a"); !errors.Is(err, shard.ErrMap) {
			t.Errorf("got %v of a map that is no map, want ErrMap", err)
		}
	})
}

// TestOneSwapWins wants one of ten that write the same version at once to have written it, and the others to be told.
func TestOneSwapWins(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d shard.Dialect) {
		s, m := shard.NewStore(db, d), newMap(t)
		if err := s.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		for version := int64(1); version <= 4; version++ {
			errs := make([]error, 10)
			maps := make([]*shard.Map, 10)
			var group sync.WaitGroup
			for i := range errs {
				maps[i] = m
				if version > 1 {
					var err error
					if maps[i], err = m.Grow(shard.Shard{Name: fmt.Sprintf("s%d_%d", version, i), Suffix: fmt.Sprintf("_s%d_%d", version, i)}); err != nil {
						t.Fatal(err)
					}
				}
				group.Go(func() {
					if version == 1 {
						errs[i] = s.Create(t.Context(), "m", m)
						return
					}
					errs[i] = s.Swap(t.Context(), "m", maps[i])
				})
			}
			group.Wait()
			winner := -1
			for i, err := range errs {
				switch {
				case err == nil && winner < 0:
					winner = i
				case err == nil:
					t.Errorf("version %d was written twice", version)
				case !errors.Is(err, shard.ErrVersion):
					t.Errorf("got %v, want ErrVersion", err)
				}
			}
			if winner < 0 {
				t.Fatalf("nobody has written version %d: %v", version, errs)
			}
			got, err := s.Load(t.Context(), "m")
			if err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(got)
			if b, _ := json.Marshal(maps[winner]); string(a) != string(b) {
				t.Errorf("got  %s\nwant %s", a, b)
			}
			m = maps[winner]
		}
	})
}

// TestSwapsDoNotWearEachOtherOut wants one of ten to have written a version on MySQL, which lets them deadlock, and the others to be told.
func TestSwapsDoNotWearEachOtherOut(t *testing.T) {
	db, m := dbtest.MySQL(t).Open(t), newMap(t)
	s := shard.NewStore(db, shard.MySQL)
	if err := s.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		errs := make(chan error, 10)
		var group sync.WaitGroup
		for range cap(errs) {
			group.Go(func() { errs <- s.Create(t.Context(), fmt.Sprint("m", i), m) })
		}
		group.Wait()
		close(errs)
		won := 0
		for err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, shard.ErrVersion) {
				t.Errorf("got %v, want ErrVersion", err)
			}
		}
		if won != 1 {
			t.Errorf("%d have written the first version, want 1", won)
		}
	}
}

// TestStoreWantsAPrimaryKey wants no map to be written where nothing keeps two from writing the same version.
func TestStoreWantsAPrimaryKey(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d shard.Dialect) {
		made := map[shard.Dialect]string{shard.MySQL: "datetime(6)", shard.Postgres: "timestamptz", shard.SQLite: "text"}[d]
		execute(t, db, "CREATE TABLE snowkey_shards (name varchar(64) NOT NULL, version bigint NOT NULL, made "+made+" NOT NULL, map text NOT NULL)")
		s := shard.NewStore(db, d)
		if err := s.Create(t.Context(), "a", newMap(t)); !errors.Is(err, shard.ErrTable) {
			t.Errorf("got %v of a table without a primary key, want ErrTable", err)
		}
		if _, err := s.Load(t.Context(), "a"); !errors.Is(err, shard.ErrNoMap) {
			t.Errorf("got %v, want ErrNoMap", err)
		}
	})
}

// TestVersionOfASessionThatDoesNotCommit wants it to see what others have written.
func TestVersionOfASessionThatDoesNotCommit(t *testing.T) {
	database, m := dbtest.MySQL(t), newMap(t)
	s := shard.NewStore(database.Open(t), shard.MySQL)
	if err := errors.Join(s.Setup(t.Context()), s.Create(t.Context(), "m", m)); err != nil {
		t.Fatal(err)
	}
	one := database.Open(t)
	one.SetMaxOpenConns(1)
	execute(t, one, "SET autocommit = 0", "SELECT COUNT(*) FROM snowkey_shards")
	next, err := m.Grow(shard.Shard{Name: "x", Suffix: "_x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Swap(t.Context(), "m", next); err != nil {
		t.Fatal(err)
	}
	if v, err := shard.NewStore(one, shard.MySQL).Version(t.Context(), "m"); v != 2 || err != nil {
		t.Errorf("got version %d, %v, want 2", v, err)
	}
}
