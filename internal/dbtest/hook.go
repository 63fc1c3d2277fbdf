package dbtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// Hook is called with each statement of a database that [Hooked] has opened; it calls do, or not, and returns do's error or another. It may be
// called by several goroutines.
type Hook func(query string, do func() error) error

// hookedConnector is a driver's, whose connections run their statements through a hook.
type hookedConnector struct {
	driver.Connector
	hook Hook
}

// Hooked opens a database, by the names that [sql.Open] takes, whose statements go through a hook.
func Hooked(name, dsn string, h Hook) (*sql.DB, error) {
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
	return sql.OpenDB(hookedConnector{c, h}), nil
}

type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

func (c hookedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &hookedConn{conn, c.hook}, nil
}

type hookedConn struct {
	driver.Conn
	hook Hook
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
