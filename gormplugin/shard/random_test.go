package shard_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// conditions are random ones: a tree of groups, with those that route and others anywhere in it.
type conditions struct {
	or   bool
	how  func(db *gorm.DB, or bool) *gorm.DB // nil for a group
	of   []conditions
	text string
}

// randomConditions makes a group of up to three.
func randomConditions(random *rand.Rand, ids []int64, depth int) conditions {
	c := conditions{or: depth > 0 && random.IntN(3) == 0} // GORM has no sense for an Or that comes first
	if depth == 0 || depth < 4 && random.IntN(4) == 0 {
		for i := range 1 + random.IntN(3) {
			c.of = append(c.of, randomConditions(random, ids, depth+1))
			c.of[i].or = c.of[i].or && i > 0
		}
		return c
	}
	n, id, user := random.IntN(40), ids[random.IntN(len(ids))], 100+random.Int64N(11)
	some, users := []int64{id}, []int64{user}
	for range random.IntN(10) {
		some, users = append(some, ids[random.IntN(len(ids))]), append(users, 100+random.Int64N(11))
	}
	where := func(query any, args ...any) {
		c.text = fmt.Sprint(query, args)
		c.how = func(db *gorm.DB, or bool) *gorm.DB {
			if or {
				return db.Or(query, args...)
			}
			return db.Where(query, args...)
		}
	}
	not := func(query any, args ...any) {
		c.or, c.text = false, fmt.Sprint("not ", query, args)
		c.how = func(db *gorm.DB, _ bool) *gorm.DB { return db.Not(query, args...) }
	}
	switch random.IntN(11) {
	case 0:
		where("amount < ?", n)
	case 1:
		where("amount", n)
	case 2:
		where("amount > ? OR amount = ?", n, n/2)
	case 3:
		where("id", id)
	case 4:
		where("user_id", user)
	case 5:
		where("id IN ?", some)
	case 6:
		where(map[string]any{"id": some})
	case 7:
		where(map[string]any{"user_id": users, "amount": []int{n, 1, 2, 3, 4, 5, 6, 7}})
	case 8:
		where(map[string]any{"user_id": users})
	case 9:
		not("user_id", user)
	default:
		not(map[string]any{"id": some})
	}
	return c
}

// add adds them to a statement.
func (c conditions) add(db *gorm.DB, fresh func() *gorm.DB) *gorm.DB {
	if c.how != nil {
		return c.how(db, c.or)
	}
	group := fresh()
	for _, inner := range c.of {
		group = inner.add(group, fresh)
	}
	if c.or {
		return db.Or(group)
	}
	return db.Where(group)
}

func (c conditions) String() string {
	if c.how != nil {
		return fmt.Sprintf("or %t: %s", c.or, c.text)
	}
	return fmt.Sprintf("or %t: %v", c.or, c.of)
}

// Whatever conditions a statement has, it reads, changes and deletes the rows that one of a single table does, or it is refused. Some rows are in a
// second table too, as those are that have moved.
func TestRandomConditions(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		for _, o := range s.orders[:10] {
			to := "orders_00"
			if s.table(o.ID) == to {
				to = "orders_01"
			}
			must(t, s.Exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE id = ?", to, s.table(o.ID)), o.ID).Error)
		}
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		var ids []int64
		for _, id := range s.ids() {
			ids = append(ids, id.Int64())
		}
		done := 0
		for range 60 {
			of := randomConditions(random, ids, 0)
			some, users := ids[random.IntN(30):], []int64{100 + random.Int64N(5), 105, 106, 107, 108}
			with := random.IntN(5) // scopes
			build := func(tx *gorm.DB, model any, sharded bool) *gorm.DB {
				fresh := func() *gorm.DB { return tx.Session(&gorm.Session{NewDB: true}) }
				db := of.add(fresh().Model(model), fresh)
				if with == 1 || with == 2 {
					if !sharded {
						db = db.Where("id IN ?", some)
					} else {
						db = db.Scopes(shard.ByIDs(some))
					}
				}
				if with == 2 || with == 3 {
					if !sharded {
						db = db.Where("user_id IN ?", users)
					} else {
						db = db.Scopes(shard.ByKeys(users))
					}
				}
				if with == 4 && sharded {
					db = db.Scopes(shard.All())
				}
				return db
			}
			var got, want []struct{ ID int64 }
			err := build(s.DB, &Order{}, true).Find(&got).Error
			if errors.Is(err, shard.ErrUnrouted) || errors.Is(err, idshard.ErrDisagree) {
				continue
			}
			done++
			slices.SortFunc(got, func(a, b struct{ ID int64 }) int { return int(a.ID - b.ID) }) // of one table, in no order
			err = errors.Join(err, build(s.DB, &Plain{}, false).Order("id").Find(&want).Error)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: %v, scopes %d: got %v, want %v, %v", seed, of, with, got, want, err)
			}
			s.undone(t, func(tx *gorm.DB) {
				for name, do := range map[string]func(db *gorm.DB, model any) *gorm.DB{
					"update": func(db *gorm.DB, _ any) *gorm.DB { return db.Update("item", "new") },
					"delete": func(db *gorm.DB, model any) *gorm.DB { return db.Unscoped().Delete(model) },
				} {
					changed, all := do(build(tx, &Order{}, true), &Order{}), do(build(tx, &Plain{}, false), &Plain{})
					if err := errors.Join(changed.Error, all.Error); err != nil || changed.RowsAffected != all.RowsAffected {
						t.Errorf("seed %d: %v, scopes %d: %s of %d rows, want %d, %v", seed, of, with, name, changed.RowsAffected, all.RowsAffected, err)
					}
				}
			})
		}
		if done < 10 {
			t.Errorf("seed %d: %d statements were not refused, want 10 and more", seed, done)
		}
		s.log.take()
	})
}
