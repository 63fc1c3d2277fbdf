package dbtest

import "syscall"

// engine is what differs between the kinds of server.
type engine interface {
	// kind is the word for this engine in Database.Kind and SNOWKEY_TEST_REQUIRE.
	kind() string
	// variable is the environment variable that names a running server.
	variable() string
	// driver is the name for sql.Open.
	driver() string

	// find looks for the engine's programs in PATH and in folders. Its error is an
	// *unavailableError when they are not there.
	find(folders []string) (programs, error)
	// initialise is the command that fills the empty folder dir with a server's data.
	initialise(p programs, dir string) []string
	// serve is the command that runs the server on the data in dir.
	serve(p programs, dir string, extra []string) []string
	// leftovers are the files in dir by which a killed server would keep the next one
	// on its data from starting, if its process number were in use again.
	leftovers(dir string) []string
	// stopSignal asks the server to end in good order, without waiting for clients.
	stopSignal() syscall.Signal

	// local is the driver's DSN of the administrator of the server in dir.
	local(dir string) string
	// given turns the value of variable into the driver's DSN of an administrator. Its
	// error does not hold the value, which may hold a password.
	given(value string) (string, error)
	// database is the database name on the server of the administrator's DSN.
	database(admin, name string) Database
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
