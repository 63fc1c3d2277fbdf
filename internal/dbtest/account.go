package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// maxAccountName is the number of characters that MySQL allows in a user's name;
// MariaDB allows more.
const maxAccountName = 32

// globalPrivileges are what an account may do on the whole server, as far as the server
// knows the privilege and its administrator may grant it. None of them is about tables:
// an account with SELECT, CREATE or GRANT OPTION on *.* sees the tables of all databases.
var globalPrivileges = []string{
	"CREATE USER",     // tests make users with fewer privileges
	"PROCESS",         // INNODB_METRICS and SHOW ENGINE INNODB STATUS
	"RELOAD",          // FLUSH PRIVILEGES
	"SUPER",           // SET GLOBAL, definers
	"READ_ONLY ADMIN", // MariaDB's: SET GLOBAL read_only, and writing all the same; part of SUPER before 10.11, and in MySQL
	"SET USER",        // MariaDB's: other accounts as definers; part of SUPER before 11.0, and in MySQL
}

// account is a user of a MySQL server who has one database, and all databases whose
// names begin with its name and an underscore.
type account struct {
	name  string // quoted, with its host
	dsn   string // the driver's DSN of the database with the account
	admin string // the driver's DSN of the server's administrator, without a database
}

// createAccount makes an account for the database d, which is the administrator's.
// [isDenied] holds for the error where the administrator may not make an account with
// these privileges. After an error the account is gone, or the error says why not.
func createAccount(ctx context.Context, d dbserver.Database) (_ *account, err error) {
	config, err := mysql.ParseDSN(d.DriverDSN)
	if err != nil {
		return nil, errors.New("dbtest: a DSN that FormatDSN made does not parse")
	}
	database := config.DBName
	config.DBName = "" // which is gone when the account is dropped
	a := &account{admin: config.FormatDSN()}
	config.DBName = database
	config.User = accountName(database)
	config.Passwd = rand.Text() + "-a1" // plugins that check passwords want such characters
	a.dsn = config.FormatDSN()

	db, err := sql.Open("mysql", a.admin)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	// The account's host is the one that the server sees, localhost for a socket. Were it
	// '%', an anonymous account at localhost, which some servers have, would come before.
	var host string
	if err := db.QueryRowContext(ctx, "SELECT SUBSTRING_INDEX(USER(), '@', -1)").Scan(&host); err != nil {
		return nil, err
	}
	a.name = fmt.Sprintf("'%s'@'%s'", config.User, host)
	if _, err := db.ExecContext(ctx, fmt.Sprintf("CREATE USER %s IDENTIFIED BY '%s'", a.name, config.Passwd)); err != nil {
		return nil, err
	}
	// An underscore that is not escaped stands for any character. In the database's name
	// that does no harm: no other database has its random end.
	for _, databases := range []string{database, database + `\_%`} {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("GRANT ALL PRIVILEGES ON `%s`.* TO %s WITH GRANT OPTION", databases, a.name)); err != nil {
			return nil, errors.Join(err, a.drop(ctx))
		}
	}
	for _, privilege := range globalPrivileges {
		_, err := db.ExecContext(ctx, fmt.Sprintf("GRANT %s ON *.* TO %s", privilege, a.name))
		if err != nil && !isDenied(err) && !isUnknown(err) {
			return nil, errors.Join(err, a.drop(ctx))
		}
	}
	return a, nil
}

// accountName returns the name of the account for a database whose name [databaseName]
// has made: as much of that name as there is room for, and its random end.
func accountName(database string) string {
	random := database[strings.LastIndexByte(database, '_'):]
	return database[:min(len(database), maxAccountName)-len(random)] + random
}

// drop drops the account.
func (a *account) drop(ctx context.Context) error {
	db, err := sql.Open("mysql", a.admin)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "DROP USER "+a.name); err != nil {
		return fmt.Errorf("dbtest: dropping the account %s: %w", a.name, err)
	}
	return nil
}

// isDenied reports whether a MySQL server refused a statement because the user lacks a
// privilege, or because it runs with --skip-grant-tables.
func isDenied(err error) bool { return hasNumber(err, 1044, 1045, 1142, 1227, 1290) }

// isUnknown reports whether a MySQL server did not understand a statement: it has no
// privilege of that name.
func isUnknown(err error) bool { return hasNumber(err, 1064) }

func hasNumber(err error, numbers ...uint16) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && slices.Contains(numbers, e.Number)
}
