package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/sqltype"
)

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo [FILE]",
		Short: "Make a SQLite file to try the commands on",
		Long: `Make a SQLite file to try the commands on, shop.db unless another name is given: a shop of fourteen tables with the keys of
auto-increment, some hundred rows and references of every kind, and the table carts, whose keys are snowflakes. A file that
exists is left as it is, and the exit status is 2.`,
		Example: `  snowkey demo
  snowkey check --db sqlite:shop.db
  snowkey nodes --db sqlite:shop.db
  snowkey migrate inspect --db sqlite:shop.db`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := append(args, "shop.db")[0]
			file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644)
			switch {
			case errors.Is(err, os.ErrExist):
				return usageError{fmt.Errorf("%s exists; remove it, or name another file", path)}
			case err != nil:
				return err
			}
			if err := errors.Join(file.Close(), makeDemo(c.Context(), path)); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(path))
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s is a shop with the keys of auto-increment; its carts have snowflakes. Now:\n", path)
			for _, next := range []string{"check", "nodes", "migrate inspect"} {
				_, failed := fmt.Fprintf(c.OutOrStdout(), "  snowkey %s --db sqlite:%s\n", next, path)
				err = errors.Join(err, failed)
			}
			return err
		},
	}
}

// cart is a row of the table whose keys the plugin makes.
type cart struct {
	ID        sqltype.ID
	Item      string    `gorm:"not null"`
	CreatedAt time.Time `gorm:"not null"`
}

// makeDemo fills an empty file.
func makeDemo(ctx context.Context, path string) (err error) {
	d := database{DSN: dsn.DSN{Kind: dsn.SQLite, Source: path}}
	pool, err := d.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	for _, statement := range migratetest.Schema(d.Kind) {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if err := migratetest.Fill(ctx, pool, d.Kind, 50, 1); err != nil {
		return err
	}
	return d.addCarts(ctx, pool)
}

// addCarts has the plugin acquire a node number, make keys and give the number back, as an application does.
func (d database) addCarts(ctx context.Context, pool *sql.DB) error {
	db, err := d.connect(ctx, pool)
	if err != nil {
		return err
	}
	keys := gormplugin.New()
	if err := db.Use(keys); err != nil {
		return err
	}
	carts := []cart{{Item: "tea"}, {Item: "milk"}, {Item: "sugar"}}
	return errors.Join(db.Transaction(func(tx *gorm.DB) error {
		return errors.Join(tx.AutoMigrate(&cart{}), tx.Create(&carts).Error)
	}), keys.Close())
}
