package dbserver

import (
	"database/sql/driver"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// mysqlEngine is MariaDB, and MySQL where only that is installed.
type mysqlEngine struct{}

var _ engine = mysqlEngine{}

func (mysqlEngine) kind() string   { return MySQL }
func (mysqlEngine) driver() string { return "mysql" }

// connector spares standard error what the driver prints there of connections that die.
func (mysqlEngine) connector(dsn string) (driver.Connector, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.Logger = &mysql.NopLogger{}
	return mysql.NewConnector(config)
}

const mysqlPackages = "mariadb-server-core and mariadb-client-core"

func (mysqlEngine) find(folders []string) (programs, error) {
	server, ok := findProgram(folders, "mariadbd", "mysqld")
	if !ok {
		return programs{}, &UnavailableError{
			Kind:    MySQL,
			Missing: "no MySQL or MariaDB server found (mariadbd or mysqld, in PATH and the system's program folders)",
			Install: mysqlPackages,
		}
	}
	version, err := exec.Command(server, "--no-defaults", "--version").CombinedOutput()
	if err != nil {
		return programs{}, errors.New("dbserver: " + server + " --version: " + err.Error() + "\n" + string(version))
	}
	if !strings.Contains(string(version), "MariaDB") {
		return programs{server: server, oracle: true}, nil
	}
	init, ok := findProgram(folders, "mariadb-install-db", "mysql_install_db")
	if !ok {
		return programs{}, &UnavailableError{
			Kind:    MySQL,
			Missing: server + " found, but not the program that makes its data folder (mariadb-install-db)",
			Install: mysqlPackages,
		}
	}
	return programs{server: server, init: init}, nil
}

func (e mysqlEngine) initialise(p programs, dir string) []string {
	data := "--datadir=" + filepath.Join(dir, "data")
	if p.oracle {
		return append([]string{p.server, "--no-defaults", "--initialize-insecure", data}, e.sizes(p)...)
	}
	return append([]string{p.init, "--no-defaults", data,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		// Nothing is kept if the machine fails now, so nothing waits for its disk.
		"--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--skip-sync-frm",
	}, e.sizes(p)...)
}

// sizes are the settings that must be the same for making the data and for serving
// it, lest the server spend its start on resizing files.
func (mysqlEngine) sizes(p programs) []string {
	if p.oracle {
		return []string{"--innodb-buffer-pool-size=64M", "--loose-secure-file-priv=NULL"}
	}
	return []string{"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--aria-log-file-size=8M"}
}

func (e mysqlEngine) serve(p programs, dir string, extra []string) []string {
	command := append([]string{p.server, "--no-defaults", // before all others: read no configuration of the machine
		"--datadir=" + filepath.Join(dir, "data"),
		"--socket=" + e.socket(dir),
		"--pid-file=" + filepath.Join(dir, "mysqld.pid"),
		"--tmpdir=" + dir,
		"--skip-networking", "--skip-name-resolve", "--skip-log-bin",
		"--character-set-server=utf8mb4", // MariaDB's own default is latin1
		"--performance-schema=OFF",
		"--key-buffer-size=1M",
	}, e.sizes(p)...)
	if p.oracle {
		command = append(command, "--loose-mysqlx=OFF") // a second protocol, with a socket outside dir
	} else {
		command = append(command, "--aria-pagecache-buffer-size=8M")
	}
	return append(command, extra...)
}

func (mysqlEngine) socket(dir string) string { return filepath.Join(dir, "mysql.sock") }

func (e mysqlEngine) leftovers(dir string) []string {
	return []string{e.socket(dir), e.socket(dir) + ".lock", filepath.Join(dir, "mysqld.pid")}
}

// identity is where MySQL has its server_uuid.
func (mysqlEngine) identity(dir string) []string {
	return []string{filepath.Join(dir, "data", "auto.cnf")}
}

func (mysqlEngine) setting(name, value string) string { return "--" + name + "=" + value }

// reserved ignores that options may have prefixes and be cut short.
func (mysqlEngine) reserved(name string) bool {
	switch strings.ReplaceAll(name, "_", "-") {
	case "datadir", "socket", "pid-file", "tmpdir", "skip-networking", "port", "bind-address", "user", "defaults-file", "no-defaults":
		return true
	}
	return false
}

func (mysqlEngine) stopSignal() syscall.Signal { return syscall.SIGTERM }

func (e mysqlEngine) local(dir string) string {
	config := mysql.NewConfig()
	config.User = "root"
	config.Net = "unix"
	config.Addr = e.socket(dir)
	config.ParseTime = true
	return config.FormatDSN()
}

func (mysqlEngine) given(text string) (string, error) {
	config, err := mysql.ParseDSN(strings.TrimPrefix(text, "mysql:"))
	if err != nil {
		return "", errors.New("dbserver: this is no DSN of github.com/go-sql-driver/mysql; " +
			"one looks like mysql:user:password@tcp(host:3306)/?parseTime=true (the value may hold a password, so it is not shown)")
	}
	config.ParseTime = true
	return config.FormatDSN(), nil
}

func (e mysqlEngine) database(admin, name string) (Database, error) {
	config, err := mysql.ParseDSN(admin)
	if err != nil { // cannot happen: local and given made it
		return Database{}, errors.New("dbserver: a DSN that FormatDSN made does not parse")
	}
	config.DBName = name
	dsn := config.FormatDSN()
	return Database{Kind: e.kind(), DSN: "mysql:" + dsn, DriverName: e.driver(), DriverDSN: dsn}, nil
}

func (mysqlEngine) redacted(dsn string) string {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "(a DSN that does not parse)"
	}
	if config.Passwd != "" {
		config.Passwd = "xxxxx"
	}
	return "mysql:" + config.FormatDSN()
}

func (mysqlEngine) create(name string) []string {
	return []string{"CREATE DATABASE `" + name + "` CHARACTER SET utf8mb4"}
}

func (mysqlEngine) drop(name string) []string {
	// A transaction that a test left open would hold the statement for a day.
	return []string{"SET SESSION lock_wait_timeout = 10", "DROP DATABASE `" + name + "`"}
}

func (mysqlEngine) versionQuery() string { return "SELECT VERSION()" }

// version reads "10.11.6-MariaDB-…" and "8.0.36-…".
func (mysqlEngine) version(text string) string {
	product := "MySQL"
	if strings.Contains(text, "MariaDB") {
		product = "MariaDB"
		text = strings.TrimPrefix(text, "5.5.5-") // said by versions 10 for the sake of old clients
	}
	number, _, _ := strings.Cut(text, "-")
	return product + " " + number
}
