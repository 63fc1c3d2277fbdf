package gormplugin_test

import (
	"regexp"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
)

// What MySQL 8 is asked for a table with an index of an expression and one of the beginning of a column: its columns and indexes once, and then
// the rows. MariaDB, on which the other tests run, has no such expressions.
func TestUpsertOnMySQL8(t *testing.T) {
	pool, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true}), &gorm.Config{Logger: new(recorder), SkipDefaultTransaction: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Use(gormplugin.New(gormplugin.From(node(7)))); err != nil {
		t.Fatal(err)
	}
	const (
		index = "lower(concat(`code`,_utf8mb4\\'?\\'))"
		code  = "LEFT(CONVERT(? USING utf8mb4),64) COLLATE utf8mb4_0900_ai_ci"
		place = "CONVERT(? USING utf8mb4) COLLATE utf8mb4_bin"
		lower = "lower(concat(`code`,_utf8mb4'?'))"
		begin = "SELECT 0 AS snowkey_row,`id` FROM `seats` WHERE "
	)
	for n := range 2 {
		mock.ExpectExec("INSERT INTO `seats`").WillReturnResult(sqlmock.NewResult(0, 4))
		mock.ExpectQuery(regexp.QuoteMeta("SELECT 0 AS snowkey_row,`id` FROM `seats` WHERE `id` = ? UNION ALL SELECT 1")).WillReturnRows(sqlmock.NewRows([]string{"snowkey_row", "id"}))
		if n == 0 {
			mock.ExpectQuery("FROM information_schema.TABLES").WillReturnRows(sqlmock.NewRows(make([]string, 7)).AddRow("app", "seats", "BASE TABLE", "InnoDB", true, 0, false))
			columns := sqlmock.NewRows(make([]string, 13))
			columns.AddRow("seats", "id", "bigint", "bigint", 19, 0, 0, false, "", "", "", "", "")
			columns.AddRow("seats", "code", "varchar(64)", "varchar", 0, 0, 64, true, "", "", "", "", "utf8mb4_0900_ai_ci")
			columns.AddRow("seats", "place", "text", "text", 0, 0, 65535, true, "", "", "", "", "utf8mb4_bin")
			mock.ExpectQuery("COLLATION_NAME.* FROM information_schema.COLUMNS").WillReturnRows(columns)
			mock.ExpectQuery(regexp.QuoteMeta("/*!80013 EXPRESSION, */")).WillReturnRows(sqlmock.NewRows(make([]string, 7)).
				AddRow("seats", "PRIMARY", true, 1, "id", 0, "").AddRow("seats", "ix_code", true, 1, "", 0, index).AddRow("seats", "ix_place", true, 1, "place", 4, ""))
		}
		mock.ExpectQuery(regexp.QuoteMeta("("+begin+"("+lower+") = (SELECT ("+lower+") FROM (SELECT "+code+" AS `code`) AS snowkey_values) FOR UPDATE) UNION ALL (")).
			WithArgs("a", "b").WillReturnRows(sqlmock.NewRows([]string{"snowkey_row", "id"}).AddRow(0, 11))
		mock.ExpectQuery(regexp.QuoteMeta("("+begin+"LEFT(`place`,4) = LEFT("+place+",4) AND `place` LIKE CONCAT(REPLACE(REPLACE(REPLACE(RTRIM(LEFT("+place+
			",4)),'!','!!'),'%','!%'),'_','!_'),'%') ESCAPE '!' FOR UPDATE) UNION ALL (")).
			WithArgs("p", "p", "q", "q").WillReturnRows(sqlmock.NewRows([]string{"snowkey_row", "id"}).AddRow(1, 12))
		seats := []*Seat{{Code: "a", Place: "p"}, {Code: "b", Place: "q"}}
		if err := db.Clauses(on("place")).Create(seats).Error; err != nil {
			t.Fatal(err)
		}
		if seats[0].ID != 11 || seats[1].ID != 12 {
			t.Errorf("got the keys %d and %d, want 11 and 12", seats[0].ID, seats[1].ID)
		}
	}
	// One row alone asks for nothing.
	mock.ExpectExec("LAST_INSERT_ID").WillReturnResult(sqlmock.NewResult(0, 1))
	if err := db.Clauses(on("place")).Create(&Seat{Code: "c", Place: "r"}).Error; err != nil {
		t.Fatal(err)
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}
