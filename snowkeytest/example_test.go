package snowkeytest_test

import (
	"fmt"
	"log"

	"github.com/DATA-DOG/go-sqlmock"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/snowkeytest"
	"github.com/snowkey-go/snowkey/sqltype"
)

type Order struct {
	ID   sqltype.ID
	Item string
}

// A mock meets the statements of the application alone.
func ExamplePlugin() {
	pool, mock, err := sqlmock.New()
	if err != nil {
		log.Fatal(err)
	}
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true}), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Use(snowkeytest.Plugin()); err != nil {
		log.Fatal(err)
	}
	mock.ExpectBegin()
	mock.ExpectExec("INSERT INTO `orders`").WithArgs(1, "tea", 2, "milk").WillReturnResult(sqlmock.NewResult(0, 2))
	mock.ExpectCommit()
	orders := []Order{{Item: "tea"}, {Item: "milk"}}
	if err := db.Create(&orders).Error; err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders, mock.ExpectationsWereMet())
	// Output: [{1 tea} {2 milk}] <nil>
}
