package gormsharding_test

import (
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"
)

// grow moves the rows of n tables that have doubled to 2n, of which the new ones are there and empty. The tables are written by nobody else
// meanwhile: the processes with n tables have ended, and those with 2n have not begun. Of idgen.Sharded id % 2n is the bucket modulo 2n, which is
// the table. One transaction a table is enough, since a row that is not moved yet is where it was.
func grow(db *gorm.DB, name string, n int) error {
	for i := range n {
		err := db.Transaction(func(tx *gorm.DB) error {
			from, to := fmt.Sprintf("%s_%02d", name, i), fmt.Sprintf("%s_%02d", name, i+n)
			copied := tx.Exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE id %% %d = %d", to, from, 2*n, i+n))
			if copied.Error != nil {
				return copied.Error
			}
			moved := tx.Exec(fmt.Sprintf("DELETE FROM %s WHERE id %% %d = %d", from, 2*n, i+n))
			if moved.Error != nil {
				return moved.Error
			}
			if moved.RowsAffected != copied.RowsAffected {
				return fmt.Errorf("copied %d rows of %s, and deleted %d: somebody writes to it", copied.RowsAffected, from, moved.RowsAffected)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestGrowing has 4 tables become 8 by plain SQL. No id changes, a row stays in table i or moves to i+4, and each is found by its id and by its
// sharding key.
func TestGrowing(t *testing.T) {
	eachShop(t, func(s *shop) {
		before := map[int64]string{}
		var orders []Order
		for _, user := range users {
			for _, item := range []string{"a", "b"} {
				o := s.order(user, item)
				orders = append(orders, o)
				before[o.ID] = s.table("orders", user)
			}
		}

		four := s.tables
		s.tables = newTables(s.T, 8)
		for _, suffix := range s.tables.Suffixes()[4:] {
			s.must(s.plain.Exec("CREATE TABLE orders" + suffix + ordersColumns))
		}
		if err := grow(s.plain, "orders", 4); err != nil {
			s.Fatal(err)
		}
		s.db, s.ran = s.open()
		s.use(s.db, s.snowkey(), s.sharding(s.tables))

		stayed := 0
		for _, o := range orders {
			table := s.table("orders", o.UserID)
			s.same("the order is in", s.where("orders", o.ID), []string{table})
			i := slices.Index(four.Suffixes(), before[o.ID][len("orders"):])
			switch table {
			case before[o.ID]:
				stayed++
			case "orders" + s.tables.Suffixes()[i+4]:
			default:
				s.Errorf("the order %d went from %s to %s", o.ID, before[o.ID], table)
			}
			for how, find := range map[string]*gorm.DB{
				"by id":           s.db.Where("id = ?", o.ID),
				"by sharding key": s.db.Where("user_id = ? AND item = ?", o.UserID, o.Item),
			} {
				s.ran.reset()
				var found Order
				s.must(find.Take(&found))
				s.wants(table)
				if found.ID != o.ID || found.UserID != o.UserID || found.Item != o.Item {
					s.Errorf("%s: got %+v, want %+v", how, found, o)
				}
			}
		}
		if stayed == 0 || stayed == len(orders) {
			s.Errorf("%d of %d orders stayed, which shows nothing", stayed, len(orders))
		}
		if n := count(s, ""); n != int64(len(orders)) {
			s.Errorf("%d orders, want %d", n, len(orders))
		}
		s.order(ann, "c")
	})
}
