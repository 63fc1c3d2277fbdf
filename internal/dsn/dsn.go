// Package dsn reads the names of databases that the commands and tests take: "sqlite:PATH", "mysql:" and a DSN of go-sql-driver,
// or a "postgres://" URL.
package dsn

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// ErrDSN says that a text names no database. Its message never holds a password: it repeats nothing of a text that cannot be read, where
// a part that was taken for something else can be one.
var ErrDSN = errors.New("not a database")

// The kinds of databases, as in the scheme of a DSN and in the name of a GORM dialector.
const (
	SQLite   = "sqlite"
	MySQL    = "mysql"
	Postgres = "postgres"
)

const forms = "want sqlite:PATH, mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE or postgres://USER:PASSWORD@HOST:PORT/DATABASE"

// DSN names a database.
type DSN struct {
	Kind   string // SQLite, MySQL or Postgres
	Source string // what the driver takes
	public string
}

// Parse reads a DSN. It opens nothing.
func Parse(text string) (DSN, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case !found:
		return DSN{}, fmt.Errorf("%w: no scheme before a colon; %s", ErrDSN, forms)
	case scheme == SQLite:
		return parseSQLite(rest)
	case scheme == MySQL:
		return parseMySQL(rest)
	case scheme == Postgres || scheme == "postgresql":
		return parsePostgres(text)
	}
	return DSN{}, fmt.Errorf("%w: unknown scheme before the colon; %s", ErrDSN, forms)
}

func parseSQLite(source string) (DSN, error) {
	if source == "" {
		return DSN{}, fmt.Errorf("%w: sqlite: without a path; want sqlite:PATH", ErrDSN)
	}
	// A DSN of a server, with the wrong scheme, would be a path with a password.
	if rest, ok := strings.CutPrefix(source, "//"); ok && strings.Contains(rest, "@") || strings.Contains(source, "@tcp(") || strings.Contains(source, "@unix(") {
		return DSN{}, fmt.Errorf("%w: sqlite: with a user and a server; %s", ErrDSN, forms)
	}
	path, query, _ := strings.Cut(source, "?")
	options := slices.DeleteFunc(strings.Split(query, "&"), func(option string) bool {
		return option == "" || strings.HasPrefix(option, "_auth_") // _auth_user, _auth_pass
	})
	public := SQLite + ":" + path
	if len(options) > 0 {
		public += "?" + strings.Join(options, "&")
	}
	return DSN{Kind: SQLite, Source: source, public: public}, nil
}

func parseMySQL(source string) (DSN, error) {
	const want = "want mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE"
	config, err := sqldriver.ParseDSN(source)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "invalid DSN: "): // these repeat nothing of the source, and others do
		return DSN{}, fmt.Errorf("%w: mysql: %w; %s", ErrDSN, err, want)
	case err != nil, strings.ContainsAny(config.Net, ":@/"), strings.Contains(config.DBName, "@"): // parts of a password before an @ that is missing, or with a slash
		return DSN{}, fmt.Errorf("%w: mysql: the address or a parameter cannot be read; %s", ErrDSN, want)
	case config.DBName == "":
		return DSN{}, fmt.Errorf("%w: mysql: no database after the last slash; %s", ErrDSN, want)
	}
	config.ParseTime = true
	return DSN{Kind: MySQL, Source: config.FormatDSN(), public: fmt.Sprintf("mysql:%s@%s(%s)/%s", config.User, config.Net, config.Addr, config.DBName)}, nil
}

func parsePostgres(source string) (DSN, error) {
	// What a parser says of a malformed URL can hold a part of the password.
	wrong := fmt.Errorf("%w: this is no postgres:// URL that can be read; want postgres://USER:PASSWORD@HOST:PORT/DATABASE", ErrDSN)
	if _, rest, _ := strings.Cut(source, ":"); !strings.HasPrefix(rest, "//") {
		return DSN{}, wrong
	}
	config, err := pgx.ParseConfig(source)
	if err != nil || strings.ContainsAny(config.Database, "/@") { // the rest of a password with a slash that is not escaped
		return DSN{}, wrong
	}
	parts, err := url.Parse(source)
	if err != nil || parts.Fragment != "" || parts.User == nil && strings.Contains(source, "@") && !parts.Query().Has("user") { // the same with # or ?
		return DSN{}, wrong
	}
	public := url.URL{Scheme: Postgres, User: url.User(config.User), Host: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), Path: "/" + config.Database}
	if strings.HasPrefix(config.Host, "/") {
		public.Host, public.RawQuery = "", url.Values{"host": {config.Host}}.Encode()
	}
	return DSN{Kind: Postgres, Source: source, public: public.String()}, nil
}

// String returns a DSN of the same database without a password or options.
func (d DSN) String() string { return d.public }

// Open returns a pool of connections to the database, which logs nothing: the MySQL driver would print to standard error when its server goes
// away. It connects to nothing yet.
func (d DSN) Open() (*sql.DB, error) {
	if d.Kind != MySQL {
		return sql.Open(map[string]string{SQLite: "sqlite3", Postgres: "pgx"}[d.Kind], d.Source)
	}
	config, err := sqldriver.ParseDSN(d.Source)
	if err != nil {
		return nil, err
	}
	config.Logger = &sqldriver.NopLogger{}
	connector, err := sqldriver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Dialector returns GORM's dialector over a pool of connections to the database.
func (d DSN) Dialector(pool gorm.ConnPool) gorm.Dialector {
	switch d.Kind {
	case MySQL:
		return mysql.New(mysql.Config{Conn: pool})
	case Postgres:
		return postgres.New(postgres.Config{Conn: pool})
	}
	return &sqlite.Dialector{Conn: pool}
}
