package dbserver

import (
	"database/sql/driver"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresEngine is PostgreSQL.
type postgresEngine struct{}

var _ engine = postgresEngine{}

func (postgresEngine) kind() string   { return Postgres }
func (postgresEngine) driver() string { return "pgx" }

func (postgresEngine) connector(dsn string) (driver.Connector, error) {
	return stdlib.GetDefaultDriver().(*stdlib.Driver).OpenConnector(dsn)
}

func (postgresEngine) find(folders []string) (programs, error) {
	folders = append(folders[:len(folders):len(folders)], postgresFolders(folders)...)
	initdb, ok := findProgram(folders, "initdb")
	if !ok {
		return programs{}, &UnavailableError{
			Kind:    Postgres,
			Missing: "no PostgreSQL server found (initdb and postgres, in PATH and the system's program folders)",
			Install: "postgresql",
		}
	}
	// The server must be of initdb's version, so of its folder, whatever PATH links to.
	if real, err := filepath.EvalSymlinks(initdb); err == nil {
		initdb = real
	}
	server := filepath.Join(filepath.Dir(initdb), "postgres")
	if !isProgram(server) {
		return programs{}, &UnavailableError{
			Kind:    Postgres,
			Missing: initdb + " found, but not the server beside it (" + server + ")",
			Install: "postgresql",
		}
	}
	return programs{server: server, init: initdb}, nil
}

func (postgresEngine) initialise(p programs, dir string) []string {
	return []string{p.init, "-D", filepath.Join(dir, "data"),
		"-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"}
}

func (postgresEngine) serve(p programs, dir string, extra []string) []string {
	command := []string{p.server, "-D", filepath.Join(dir, "data"), "-p", "5432", // in the socket's name only
		"-c", "listen_addresses=",
		"-c", "unix_socket_directories=" + dir,
		"-c", "shared_buffers=16MB",
		// In the data folder, so that a killed server leaves nothing in /dev/shm.
		"-c", "dynamic_shared_memory_type=mmap",
	}
	for _, setting := range extra {
		command = append(command, "-c", setting)
	}
	return command
}

func (postgresEngine) leftovers(dir string) []string {
	socket := filepath.Join(dir, ".s.PGSQL.5432")
	return []string{socket, socket + ".lock", filepath.Join(dir, "data", "postmaster.pid")}
}

// identity is nothing: the system identifier is in each file of the log.
func (postgresEngine) identity(string) []string { return nil }

func (postgresEngine) setting(name, value string) string { return name + "=" + value }

func (postgresEngine) reserved(name string) bool {
	switch strings.ToLower(name) {
	case "data_directory", "unix_socket_directories", "listen_addresses", "port", "dynamic_shared_memory_type",
		"config_file", "hba_file", "ident_file", "external_pid_file":
		return true
	}
	return false
}

// stopSignal is SIGINT, PostgreSQL's fast shutdown; SIGTERM waits for all clients.
func (postgresEngine) stopSignal() syscall.Signal { return syscall.SIGINT }

func (postgresEngine) local(dir string) string {
	// The port is said because PGPORT would give another one.
	query := url.Values{"host": {dir}, "port": {"5432"}, "user": {"postgres"}}
	return (&url.URL{Scheme: "postgres", Path: "/postgres", OmitHost: false, RawQuery: query.Encode()}).String()
}

func (postgresEngine) given(text string) (string, error) {
	address, err := url.Parse(text)
	if err == nil && address.Scheme != "postgres" && address.Scheme != "postgresql" {
		err = errors.New("another scheme")
	}
	if err == nil {
		_, err = pgx.ParseConfig(text)
	}
	if err != nil {
		return "", errors.New("dbserver: this is no URL of a PostgreSQL server; " +
			"one looks like postgres://user:password@host:5432/postgres (the value may hold a password, so it is not shown)")
	}
	if strings.Trim(address.Path, "/") == "" && address.Query().Get("dbname") == "" && address.Query().Get("database") == "" {
		address.Path = "/postgres"
	}
	return address.String(), nil
}

func (e postgresEngine) database(admin, name string) (Database, error) {
	address, err := url.Parse(admin)
	if err != nil { // cannot happen: local and given made it
		return Database{}, errors.New("dbserver: a URL that String made does not parse")
	}
	query := address.Query()
	query.Del("dbname") // would win over the path
	query.Del("database")
	address.Path, address.RawQuery = "/"+name, query.Encode()
	dsn := address.String()
	return Database{Kind: e.kind(), DSN: dsn, DriverName: e.driver(), DriverDSN: dsn}, nil
}

func (postgresEngine) redacted(dsn string) string {
	address, err := url.Parse(dsn)
	if err != nil {
		return "(a URL that does not parse)"
	}
	query := address.Query()
	for _, key := range []string{"password", "sslpassword"} {
		if query.Has(key) {
			query.Set(key, "xxxxx")
		}
	}
	address.RawQuery = query.Encode()
	return address.Redacted()
}

func (postgresEngine) create(name string) []string {
	return []string{`CREATE DATABASE "` + name + `"`}
}

func (postgresEngine) drop(name string) []string {
	return []string{`DROP DATABASE "` + name + `" WITH (FORCE)`}
}

func (postgresEngine) versionQuery() string { return "SHOW server_version" }

// version reads "15.6 (Debian 15.6-0+deb12u1)".
func (postgresEngine) version(text string) string {
	number, _, _ := strings.Cut(text, " ")
	return "PostgreSQL " + number
}
