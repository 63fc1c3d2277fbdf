package run_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
)

// hook is called with each statement; it calls do, or not, and returns do's error or another.
type hook func(query string, do func() error) error

// connector is a driver's, whose connections run their statements through a hook.
type connector struct {
	driver.Connector
	hook hook
}

// hooked opens a database whose statements go through a hook. A hook may be called by several goroutines.
func hooked(name, dsn string, h hook) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	var c driver.Connector = dsnConnector{plain.Driver(), dsn}
	if d, ok := plain.Driver().(driver.DriverContext); ok {
		if c, err = d.OpenConnector(dsn); err != nil {
			return nil, err
		}
	}
	return sql.OpenDB(connector{c, h}), nil
}

type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &hookedConn{conn, c.hook}, nil
}

type hookedConn struct {
	driver.Conn
	hook hook
}

func (c *hookedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.hook(query, func() error {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *hookedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.hook(query, func() error {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	if err != nil && rows != nil {
		_ = rows.Close()
		rows = nil
	}
	return rows, err
}

func (c *hookedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c *hookedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c *hookedConn) Ping(ctx context.Context) error {
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (c *hookedConn) ResetSession(ctx context.Context) error {
	if p, ok := c.Conn.(driver.SessionResetter); ok {
		return p.ResetSession(ctx)
	}
	return nil
}

func (c *hookedConn) CheckNamedValue(v *driver.NamedValue) error {
	if p, ok := c.Conn.(driver.NamedValueChecker); ok {
		return p.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// through opens the world's database once more, with a hook, for the time of the test.
func (w *world) through(t *testing.T, h hook) *sql.DB {
	t.Helper()
	db, err := hooked(w.base.DriverName, w.base.DriverDSN, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// firstConnector runs a statement on each new connection.
type firstConnector struct {
	driver.Connector
	first string
}

func (c firstConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.first, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// hookedFirst opens a database whose connections begin with a statement.
func hookedFirst(name, dsn, first string) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	c, err := plain.Driver().(driver.DriverContext).OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(firstConnector{c, first}), nil
}
