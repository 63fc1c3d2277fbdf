package compare

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbserver"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// ErrDatabase says that a database cannot be used. It is wrapped in errors that say why.
var ErrDatabase = database.ErrDatabase

// Target is a database to measure on. It is made by [OpenTarget].
type Target struct {
	database *database.Database
	pair     *database.Database // a second server, nil: there is none
	first    *database.Database // the database as the first of the two servers, nil: as it is
	server   *dbserver.Server   // that runs the database, nil unless it was started for it
	dsn      string             // of database
	firstDSN string             // of first
	name     string             // as it was asked for, without a password
	closers  []func() error
}

// CheckTarget tells without connecting whether texts can name a target, see [OpenTarget]. The error wraps [ErrDatabase].
func CheckTarget(text, second string) error {
	kind, err := targetKind(text)
	if err != nil || second == "" {
		return err
	}
	if strings.HasPrefix(second, dbserver.Scheme) {
		return fmt.Errorf("%w: the second server cannot be a private one; a private database has two of its own", ErrDatabase)
	}
	other, err := targetKind(second)
	if err == nil && other != kind {
		err = fmt.Errorf("%w: the second server is of the kind %s, and the first of %s", ErrDatabase, other, kind)
	}
	return err
}

// targetKind is the kind of database that a text can name.
func targetKind(text string) (kind string, err error) {
	if strings.HasPrefix(text, dbserver.Scheme) {
		if kind, _, err = dbserver.Parse(text); err != nil {
			err = fmt.Errorf("%w: %w", ErrDatabase, err)
		}
		return kind, err
	}
	if err := database.Check(text); err != nil {
		return "", err
	}
	parsed, err := dsn.Parse(text)
	return parsed.Kind, err
}

// Guard has to be the first call of the main of a program that opens targets such as private:mysql. Each private server has a guard, which ends the
// server when the program is gone: the program itself, executed again. In a guard the call never returns.
func Guard() { dbserver.Guard() }

// OpenTarget connects to a database: sqlite:PATH, mysql:DSN, postgres://…, or private:mysql or private:postgres with settings after a question
// mark, for which it starts a server of the programs that are installed. second names a second server of the same kind for strategies that take
// two; "" is none, but a private server gets one, and an SQLite file too, in the temporary folder. The error wraps [ErrDatabase].
func OpenTarget(ctx context.Context, text, second string) (*Target, error) {
	if err := CheckTarget(text, second); err != nil {
		return nil, err
	}
	t := &Target{name: text}
	open := t.open
	if strings.HasPrefix(text, dbserver.Scheme) {
		open = t.openPrivate
	}
	if err := open(ctx, text, second); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// open connects to what is there.
func (t *Target) open(ctx context.Context, text, second string) (err error) {
	if t.database, err = t.connect(ctx, text); err != nil {
		return err
	}
	t.name, t.dsn = t.database.String(), text
	switch {
	case second != "":
		return t.connectPair(ctx, second)
	case t.database.Kind() == dsn.SQLite:
		t.pair, err = t.secondFile(ctx)
	}
	return err
}

// openPrivate starts a server, and another one unless that is named.
func (t *Target) openPrivate(ctx context.Context, text, second string) (err error) {
	if t.server, t.dsn, err = t.start(ctx, text); err != nil {
		return err
	}
	if t.database, err = t.connect(ctx, t.dsn, database.Private()); err != nil {
		return err
	}
	if second == "" {
		if _, second, err = t.start(ctx, text); err != nil {
			return err
		}
	}
	return t.connectPair(ctx, second)
}

// connectPair connects to a second server. On MySQL and MariaDB the sessions with the two count odd and even numbers.
func (t *Target) connectPair(ctx context.Context, second string) (err error) {
	if t.database.Kind() == dsn.MySQL {
		if t.firstDSN, err = counting(t.dsn, 1); err != nil {
			return err
		}
		if t.first, err = t.connect(ctx, t.firstDSN); err != nil {
			return err
		}
		if second, err = counting(second, 2); err != nil {
			return err
		}
	}
	t.pair, err = t.connect(ctx, second)
	return err
}

// counting returns a DSN of MySQL whose sessions count every second number, from the first on.
func counting(text string, first int) (string, error) {
	scheme, source, _ := strings.Cut(text, ":")
	config, err := mysql.ParseDSN(source)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["auto_increment_increment"], config.Params["auto_increment_offset"] = "2", strconv.Itoa(first)
	return scheme + ":" + config.FormatDSN(), nil
}

// process opens connections to the private server as a process of an application has them.
func (t *Target) process(ctx context.Context, info strategy.Info) (*database.Database, error) {
	text := t.dsn
	if info.Pair && t.first != nil {
		text = t.firstDSN
	}
	return database.Open(ctx, text, database.Private())
}

// connect opens a database, which is closed with the target.
func (t *Target) connect(ctx context.Context, text string, options ...database.Option) (*database.Database, error) {
	d, err := database.Open(ctx, text, options...)
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() error {
		if err := d.Close(); d.Kind() == dsn.SQLite {
			return err
		}
		return nil // at worst the server was killed, and connections with it
	})
	return d, nil
}

// start starts a server, which is removed with the target, and makes a database there, of which it returns the DSN.
func (t *Target) start(ctx context.Context, text string) (_ *dbserver.Server, dsn string, err error) {
	kind, settings, err := dbserver.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	if kind == dbserver.Postgres {
		// So that the log of a whole table is there when its page splits are counted.
		settings = append([]string{"wal_keep_size=4GB"}, settings...)
	}
	server, err := dbserver.Start(ctx, kind, settings...)
	if err != nil {
		return nil, "", fmt.Errorf("%w %s: %w", ErrDatabase, text, err)
	}
	t.closers = append(t.closers, server.Close)
	made, err := server.Database(ctx, "snowkey")
	if err != nil {
		return nil, "", fmt.Errorf("%w %s: %w", ErrDatabase, text, err)
	}
	return server, made.DSN, nil
}

// secondFile makes a second SQLite database in the temporary folder, which goes with the target.
func (t *Target) secondFile(ctx context.Context) (*database.Database, error) {
	folder, err := os.MkdirTemp("", "snowkey-compare-db-")
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() error { return os.RemoveAll(folder) })
	return t.connect(ctx, "sqlite:"+filepath.Join(folder, "second.db")+"?_journal_mode=WAL&_synchronous=NORMAL")
}

// Close ends the connections, and removes what was started.
func (t *Target) Close() error {
	var failed error
	for i := range t.closers {
		failed = errors.Join(failed, t.closers[len(t.closers)-1-i]())
	}
	t.closers = nil
	return failed
}

// String returns the target's name, without a password.
func (t *Target) String() string { return t.name }

// Leftovers returns the tables and sequences of earlier runs that were killed before they could drop them; those on a second server say so.
func (t *Target) Leftovers(ctx context.Context) ([]string, error) {
	left, err := t.database.Leftovers(ctx, tablePrefix)
	if err != nil || t.pair == nil {
		return left, err
	}
	more, err := t.pair.Leftovers(ctx, tablePrefix)
	for _, name := range more {
		left = append(left, fmt.Sprintf("%s (on %s)", name, t.pair))
	}
	return left, err
}

// connections returns the connections for the keys of a strategy: to the database, and to the second server, nil where there is none.
func (t *Target) connections(info strategy.Info) (db, pair *sql.DB) {
	if t.pair != nil {
		pair = t.pair.Pool()
	}
	if info.Pair && t.first != nil {
		return t.first.Pool(), pair
	}
	return t.database.Pool(), pair
}

// tablePrefix begins the names of everything that is made in a database.
const tablePrefix = "snowkey_compare_"

// newPrefix returns the prefix of one run.
func newPrefix() string {
	number := make([]byte, 4)
	_, _ = rand.Read(number) // never fails
	return fmt.Sprintf("%s%x", tablePrefix, number)
}

// sweep drops what a run, or a part of it, has made, also when its context has ended.
func (t *Target) sweep(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	err := t.database.Sweep(ctx, prefix)
	if t.pair != nil {
		err = errors.Join(err, t.pair.Sweep(ctx, prefix))
	}
	return err
}
