package gormplugin_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Freight has rows from before the sharding.
type Freight struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64
	Note   string
}

// A sharded table with rows from before the sharding, whose node numbers are granted in another database, such as a small PostgreSQL beside Vitess.
func Example_sharded() {
	if err := sharded(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: [new old]
}

func sharded(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	// As a rule sql.Open("pgx", …) and grant.Postgres.
	grants, err := sql.Open("sqlite3", filepath.Join(folder, "grants.db"))
	if err != nil {
		return err
	}
	defer grants.Close()
	keeper, err := grant.Open(ctx, grant.SQL(grants, grant.SQLite), grant.Config{Generator: []idgen.Option{idgen.Scattered, idgen.WithShards()}})
	if err != nil {
		return err
	}
	defer keeper.Close()
	source, err := shard.NewSource(keeper, shard.WithBefore(1_000_000)) // one more than the greatest auto-increment
	if err != nil {
		return err
	}

	db, err := gorm.Open(sqlite.Open(filepath.Join(folder, "freights.db")))
	if err != nil {
		return err
	}
	if err := db.Use(gormplugin.New(gormplugin.From(source))); err != nil {
		return err
	}
	if err := db.AutoMigrate(&Freight{}); err != nil { // or the engine's DDL
		return err
	}
	if err := db.Create(&[]Freight{{ID: 17, UserID: 9, Note: "old"}, {UserID: 9, Note: "new"}}).Error; err != nil {
		return err
	}
	var notes []string
	if err := db.Model(&Freight{}).Scopes(gormplugin.OfShardingKey(9)).Order("note").Pluck("note", &notes).Error; err != nil {
		return err
	}
	fmt.Println(notes)
	return nil
}
