package migrate_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate"
)

// The steps one by one: a report for people, a plan for a reviewer to read, and its run to the hold and past it.
func Example() {
	folder, err := os.MkdirTemp("", "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	db, err := gorm.Open(sqlite.Open(filepath.Join(folder, "notes.db")), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	for _, statement := range []string{
		"CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, created_at DATETIME NOT NULL)",
		"INSERT INTO notes (body, created_at) VALUES ('first', '2026-01-02 03:04:05'), ('second', '2026-01-02 03:04:06')",
	} {
		if err := db.Exec(statement).Error; err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	report, err := migrate.Inspect(ctx, db, migrate.InspectOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Tables[0].Name, report.Tables[0].Key.Column)
	plan, err := migrate.MakePlan(ctx, db, report, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC", Window: time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	if err := plan.WriteFiles(filepath.Join(folder, "rekey.sql")); err != nil { // which a reviewer reads, and rekey.json
		log.Fatal(err)
	}
	outcome, err := migrate.Run(ctx, db, plan, migrate.RunOptions{})
	for err == nil && outcome.Held != "" {
		fmt.Println("held at", outcome.Hold)
		outcome, err = migrate.Run(ctx, db, plan, migrate.RunOptions{Continue: outcome.Hold}) // once what outcome.Held asks for is done
	}
	if err != nil {
		log.Fatal(err)
	}
	checks, err := migrate.Verify(ctx, db, plan, migrate.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, check := range checks {
		if !check.Result.Good() {
			fmt.Println(check.Name, check.Text)
		}
	}
	fmt.Println("done:", outcome.Done)
	// Output:
	// notes id
	// held at deploy-writers
	// held at drop-maps
	// done: true
}
