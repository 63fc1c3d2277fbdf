package dbserver

import (
	"database/sql/driver"
	"fmt"
	"syscall"
)

// The kinds of server, as in [Database].
const (
	MySQL    = "mysql" // MariaDB, or MySQL where only that is installed
	Postgres = "postgres"
)

func engineOf(kind string) (engine, error) {
	switch kind {
	case MySQL:
		return mysqlEngine{}, nil
	case Postgres:
		return postgresEngine{}, nil
	}
	return nil, fmt.Errorf("dbserver: unknown kind of server %q: want %s or %s", kind, MySQL, Postgres)
}

// engine is what differs between the kinds of server.
type engine interface {
	// kind is the word for this engine in Database.Kind.
	kind() string
	// driver is the name for sql.Open.
	driver() string
	// connector makes connections that log nothing: servers are killed here.
	connector(dsn string) (driver.Connector, error)

	// find looks for the engine's programs in PATH and in folders. Its error is an
	// *UnavailableError when they are not there.
	find(folders []string) (programs, error)
	// initialise is the command that fills the empty folder dir with a server's data.
	initialise(p programs, dir string) []string
	// serve is the command that runs the server on the data in dir.
	serve(p programs, dir string, extra []string) []string
	// leftovers are the files in dir by which a killed server would keep the next one
	// on its data from starting, if its process number were in use again.
	leftovers(dir string) []string
	// identity are the files in dir by which the server is told from all others, and
	// which it makes anew where they are missing.
	identity(dir string) []string
	// setting is the argument of serve that sets name to value, and reserved tells of a
	// name that only serve itself may set.
	setting(name, value string) string
	reserved(name string) bool
	// stopSignal asks the server to end in good order, without waiting for clients.
	stopSignal() syscall.Signal

	// local is the driver's DSN of the administrator of the server in dir.
	local(dir string) string
	// given turns what names a running server into the driver's DSN of an
	// administrator. Its error does not hold the text, which may hold a password.
	given(text string) (string, error)
	// database is the database name on the server of the administrator's DSN.
	database(admin, name string) (Database, error)
	// redacted is a driver's DSN with its password masked.
	redacted(dsn string) string

	// create and drop are the statements that make and remove a database.
	create(name string) []string
	drop(name string) []string
	// versionQuery selects one text, of which version makes the product's name and
	// number, such as "MariaDB 10.11.6".
	versionQuery() string
	version(text string) string
}

// programs are the paths of an engine's programs.
type programs struct {
	server, init string
	oracle       bool // the server is MySQL, not MariaDB
}
