package database_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/database"
)

// orders makes a table with an index beside the primary key, and inserts rows by 500 in the order in which key names them.
func orders(t *testing.T, d *database.Database, name, column string, from, rows int, key func(i int) string) {
	t.Helper()
	if from == 0 {
		exec(t, d, fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY, customer_id BIGINT, status VARCHAR(16), total BIGINT)", name, column),
			fmt.Sprintf("CREATE INDEX %s_customer ON %s (customer_id)", name, name))
	}
	db, err := d.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < from+rows; {
		var values strings.Builder
		for n := 0; n < 500 && i < from+rows; n++ {
			if n > 0 {
				values.WriteString(", ")
			}
			fmt.Fprintf(&values, "(%s, %d, 'shipped', %d)", key(i), uint32(i)*2654435761%50000, i)
			i++
		}
		if err := db.Exec("INSERT INTO " + name + " VALUES " + values.String()).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func counter(i int) string { return fmt.Sprint(i + 1) }

// scattered are keys without order, of 19 digits.
func scattered() func(int) string {
	random := rand.New(rand.NewPCG(1, 2))
	return func(int) string { return fmt.Sprint(int64(1e18) + random.Int64N(8e18)) }
}

// text are keys without order, of 36 characters.
func text() func(int) string {
	random := rand.New(rand.NewPCG(3, 4))
	return func(int) string { return fmt.Sprintf("'%016x-%019x'", random.Uint64(), random.Uint64()) }
}
