package pgxtype_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/sqltype/pgxtype"
)

type Order struct {
	ID sqltype.Key[Order]
}

// A registered map sends a slice of keys as bigint[], and reads a column that may be NULL.
func ExampleRegister() {
	m := pgtype.NewMap() // conn.TypeMap() of a connection
	pgxtype.Register(m)

	text, err := m.Encode(pgtype.Int8ArrayOID, pgtype.TextFormatCode, []sqltype.Key[Order]{1541815603606036480, 7}, nil)
	fmt.Println(string(text), err)

	var id sql.Null[sqltype.Key[Order]]
	err = m.Scan(pgtype.Int8OID, pgtype.TextFormatCode, []byte("1541815603606036480"), &id)
	fmt.Println(id.V, id.Valid, err)
	// Output:
	// {1541815603606036480,7} <nil>
	// 1541815603606036480 true <nil>
}

// Every connection of a pool of pgx is registered when it is made.
func ExampleRegister_pool() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig("postgres://app@localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		pgxtype.Register(conn.TypeMap())
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config) // connects when it is first used
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	fmt.Println("ready")
	// Output: ready
}

// GORM's driver for PostgreSQL takes a pool of database/sql, whose connections are those of pgx.
func ExampleRegister_gorm() {
	config, err := pgx.ParseConfig("postgres://app@localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		pgxtype.Register(conn.TypeMap())
		return nil
	}))
	defer pool.Close()

	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{DisableAutomaticPing: true})
	fmt.Println(db.Name(), err)
	// Output: postgres <nil>
}
