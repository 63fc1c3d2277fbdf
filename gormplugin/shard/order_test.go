package shard_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// A batch goes to the end of each table, as ids that were made one after another do; of rows that meet each other the last one counts.
func TestCreateInTheOrderOfIDs(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 2, &account{})
		rows := accounts(60)
		for i := range rows {
			rows[i].ID = sqltype.ID((60-i)<<20 | int(bucketOf(t, r, rows[i].Tenant)))
		}
		tx, log := recorded(db)
		must(t, tx.Session(&gorm.Session{DryRun: true}).Create(&rows).Error)
		for _, sql := range strings.Split(log.all[len(log.all)-1], "; ") {
			last := -1
			for i := len(rows) - 1; i >= 0; i-- {
				if at := strings.Index(sql, fmt.Sprintf("(%d,", rows[i].ID)); at >= 0 && at < last {
					t.Errorf("the ids are in another order in %s", sql)
				} else if at >= 0 {
					last = at
				}
			}
		}
		rows[59].ID, rows[59].Tenant, rows[59].Email = rows[0].ID, rows[0].Tenant, "last"
		if db.Name() == "postgres" {
			return // takes no row twice in one statement
		}
		must(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error)
		if got := everywhere(t, db, r, "accounts", "email"); len(got) != 59 || got[rows[0].ID.Int64()] != "last" {
			t.Errorf("got %d rows and %q, want 59 and the last one's", len(got), got[rows[0].ID.Int64()])
		}
	})
}

func bucketOf(t *testing.T, r *shard.Router, key any) int64 {
	t.Helper()
	bucket, err := r.Map().Place(key, 0)
	must(t, err)
	return bucket
}
