package dbtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// Hook is called with each statement of a database that [Hooked] has opened; it calls do, or not, and returns do's error or another. It may be
// called by several goroutines.
type Hook func(query string, do func() error) error

// Hooked opens a database, by the names that [sql.Open] takes, whose statements go through a hook.
func Hooked(name, dsn string, h Hook) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(hookedConnector{plain.Driver(), dsn, h}), plain.Close()
}

// hookedConnector is a driver's, whose connections run their statements through a hook.
type hookedConnector struct {
	driver driver.Driver
	dsn    string
	hook   Hook
}

func (c hookedConnector) Driver() driver.Driver { return c.driver }

func (c hookedConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &hookedConn{conn.(fullConn), c.hook}, nil
}

// fullConn is what the connections of all drivers here can do.
type fullConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.Pinger
}

type hookedConn struct {
	fullConn
	hook Hook
}

func (c *hookedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.hook(query, func() error {
		result, err = c.fullConn.ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *hookedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.hook(query, func() error {
		rows, err = c.fullConn.QueryContext(ctx, query, args)
		return err
	})
	if err != nil && rows != nil {
		_ = rows.Close()
		rows = nil
	}
	return rows, err
}

func (c *hookedConn) ResetSession(ctx context.Context) error {
	if r, ok := c.fullConn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *hookedConn) CheckNamedValue(v *driver.NamedValue) error {
	if p, ok := c.fullConn.(driver.NamedValueChecker); ok {
		return p.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
