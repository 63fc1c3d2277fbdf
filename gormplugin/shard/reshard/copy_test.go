package reshard_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// movedIDs returns the ids of some buckets in their order.
func movedIDs(ledger map[int64]record, bucket int64) (ids []int64) {
	for id := range ledger {
		if id&15 == bucket {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestUniqueValueMovesOn wants a row that was copied to give way when its unique value is another row's meanwhile.
func TestUniqueValueMovesOn(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		m := setup(t, own, idshard.Tables(2)...)
		ledger := map[int64]record{}
		bucket, err := m.Place(int64(1), 0)
		if err != nil {
			t.Fatal(err)
		}
		from, to := m.Shard(int(bucket%2)), m.Shard(int((bucket+1)%2))
		for i := range int64(50) {
			id := (i+1)<<4 | bucket
			ledger[id] = record{1, fmt.Sprintf("item %d", i)}
			own.execute(t, fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES (%d, 1, 'item %d')", own.table(from), own.quote("Id ?"), own.quote("user"), own.quote("item"), id, i))
		}
		ids := movedIDs(ledger, bucket)
		next, err := m.Move(to.Name, bucket)
		if err != nil {
			t.Fatal(err)
		}
		w := world(own)
		changed := false
		err = reshard.Move(t.Context(), w, plan(t, w, next), fast(func(p reshard.Progress) {
			if p.State != "copy" || p.Done != 20 || changed {
				return
			}
			changed = true
			set := func(id int64, item string) {
				own.execute(t, fmt.Sprintf("UPDATE %s SET %s = '%s' WHERE %s = %d", own.table(from), own.quote("item"), item, own.quote("Id ?"), id))
				ledger[id] = record{1, item}
			}
			set(ids[0], "new")
			set(ids[45], "item 0") // which is copied next, when the old one of the first row is there
		}))
		if err != nil || !changed {
			t.Fatalf("got %v, changed %v", err, changed)
		}
		check(t, ledger, next, own)
	})
}

// TestValuesThatOneIndexTellsApart wants no row to be lost where a column takes two values for the same that its unique index has both of.
func TestValuesThatOneIndexTellsApart(t *testing.T) {
	t.Parallel()
	for _, d := range []idshard.Dialect{idshard.SQLite, idshard.Postgres} { // MySQL has no collations of indexes
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			own := newPlace(t, d)
			b := newBucketful(t, own, 120)
			if d == idshard.Postgres {
				own.execute(t, "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
			}
			for _, s := range []idshard.Shard{b.from, b.to} {
				if d == idshard.Postgres {
					own.execute(t, "DROP INDEX "+own.quote("uni"+s.Suffix))
					own.execute(t, "ALTER TABLE "+own.table(s)+` ALTER "item" TYPE text COLLATE folded`)
					own.execute(t, "CREATE UNIQUE INDEX "+own.quote("uni"+s.Suffix)+" ON "+own.table(s)+` ("item" COLLATE "C")`)
					continue
				}
				own.execute(t, "ALTER TABLE "+own.table(s)+` ADD COLUMN folded TEXT COLLATE NOCASE`)
				own.execute(t, "CREATE UNIQUE INDEX "+own.quote("folded"+s.Suffix)+" ON "+own.table(s)+` (folded COLLATE BINARY)`)
			}
			write := func(id int64, item string) {
				b.write(id, item)
				if d == idshard.SQLite {
					own.execute(t, fmt.Sprintf(`UPDATE %s SET folded = '%s' WHERE "Id ?" = %d`, own.table(b.from), item, id))
				}
			}
			write(b.ids[1], "abc")
			p := plan(t, b.w, b.next)
			done := false
			err := reshard.Move(t.Context(), b.w, p, fast(func(at reshard.Progress) {
				if fencing(at) && !done {
					done = true
					write(b.ids[9], "ABC")
				}
			}))
			if !errors.Is(err, reshard.ErrMismatch) || !done {
				t.Errorf("got %v, want ErrMismatch", err)
			}
			if err := reshard.Abort(t.Context(), b.w, p, fast(nil)); err != nil {
				t.Fatal(err)
			}
			check(t, b.ledger, b.m, own)
		})
	}
}

// TestRowsThatTheTargetReplaces wants a row of the target's own to stay where SQLite was told to delete it for a row that comes.
func TestRowsThatTheTargetReplaces(t *testing.T) {
	t.Parallel()
	own := newPlace(t, idshard.SQLite)
	b := newBucketful(t, own, 30)
	for _, s := range []idshard.Shard{b.from, b.to} {
		own.execute(t, "DROP INDEX "+own.quote("uni"+s.Suffix))
		own.execute(t, "ALTER TABLE "+own.table(s)+" RENAME TO old")
		own.execute(t, strings.Replace(own.ddl(s)[0], `"item" VARCHAR(100) NOT NULL`, `"item" VARCHAR(100) NOT NULL UNIQUE ON CONFLICT REPLACE`, 1))
		own.execute(t, "INSERT INTO "+own.table(s)+" SELECT * FROM old")
		own.execute(t, "DROP TABLE old")
	}
	user := int64(2)
	for ; ; user++ {
		bucket, err := b.m.Place(user, 0)
		if err != nil {
			t.Fatal(err)
		}
		if b.m.Shard(int(bucket%2)).Name == b.to.Name {
			id := 9000<<4 | bucket
			own.execute(t, fmt.Sprintf(`INSERT INTO %s ("Id ?", "user", "item") VALUES (%d, %d, 'item 7')`, own.table(b.to), id, user))
			b.ledger[id] = record{user, "item 7"}
			break
		}
	}
	p := plan(t, b.w, b.next)
	if err := reshard.Move(t.Context(), b.w, p, fast(nil)); err == nil || errors.Is(err, reshard.ErrMismatch) {
		t.Errorf("got %v, want the database's error", err)
	}
	if err := reshard.Abort(t.Context(), b.w, p, fast(nil)); err != nil {
		t.Fatal(err)
	}
	check(t, b.ledger, b.m, own)
}

// TestMismatch wants a row that differs at the end to stop the move before the flip.
func TestMismatch(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		m := setup(t, own, idshard.Tables(2)...)
		ledger := fill(t, m, 50, own)
		next, err := m.Move("01", 0, 2, 4, 6, 8)
		if err != nil {
			t.Fatal(err)
		}
		w := world(own)
		p := plan(t, w, next)
		var id int64
		for other := range ledger {
			if slices.Contains([]int64{0, 2, 4, 6, 8}, other&15) {
				id = other
			}
		}
		spoiled := false
		err = reshard.Move(t.Context(), w, p, fast(func(at reshard.Progress) {
			if at.State == "drain" && !spoiled {
				spoiled = true
				spoil(t, own, reshard.Pass(p), fmt.Sprintf("UPDATE %s SET %s = 'spoiled' WHERE %s = %d", own.table(m.Shard(1)), own.quote("item"), own.quote("Id ?"), id))
			}
		}))
		if !errors.Is(err, reshard.ErrMismatch) {
			t.Errorf("got %v, want ErrMismatch", err)
		}
		if err := reshard.Abort(t.Context(), w, p, fast(nil)); err != nil {
			t.Fatal(err)
		}
		check(t, ledger, m, own)
	})
}

// spoil runs a statement past the fences.
func spoil(t *testing.T, p *place, pass, statement string) {
	t.Helper()
	if p.dialect == idshard.SQLite {
		var names []string
		rows, err := p.db.Query("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'snowkey_fence%'")
		if err != nil {
			t.Error(err)
			return
		}
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Error(err)
			}
			names = append(names, name)
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		for _, name := range names {
			p.execute(t, "DROP TRIGGER "+p.quote(name))
		}
		p.execute(t, statement)
		return
	}
	conn, err := p.db.Conn(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	set := map[idshard.Dialect]string{idshard.MySQL: "SET @snowkey_mover = '" + pass + "'", idshard.Postgres: "SET snowkey.mover = '" + pass + "'"}[p.dialect]
	for _, s := range []string{set, statement} {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}
