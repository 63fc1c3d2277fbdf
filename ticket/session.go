package ticket

import (
	"context"
	"database/sql"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// examine looks at the session and for the table, has look look at that, and then looks for the sequence in other tables. The column has the sequence's name.
func (n *names) examine(ctx context.Context, conn *sql.Conn, c *condition, column string, look func(dialect.MySQLSession) error) error {
	session, err := n.settings(ctx, conn, c)
	if err != nil {
		return err
	}
	if c.place, err = n.find(ctx, conn); err != nil {
		return err
	}
	n.schema = c.place.At.Schema
	if err := look(session); err != nil {
		return err
	}
	if err := n.elsewhere(ctx, conn, c, column); err != nil {
		return err
	}
	return n.made(ctx, conn, c)
}

// settings adds what the settings of a session and its server mean. The session is MySQL's alone.
func (n names) settings(ctx context.Context, conn *sql.Conn, c *condition) (session dialect.MySQLSession, err error) {
	if n.dialect != MySQL {
		findings, err := n.dialect.Durability(ctx, conn, n.schema)
		c.found(findings, n.unsafe)
		return session, err
	}
	if session, err = dialect.ReadMySQLSession(ctx, conn); err != nil {
		return session, err
	}
	if session.Autocommit != 1 {
		if session.ServerAutocommit == 1 {
			c.stale = true
		}
		c.findf(ErrUnsafe, "autocommit is %d, so that nothing is committed; set it to 1, also in the DSN", session.Autocommit)
	}
	if session.Transaction {
		c.stale = true
		c.findf(ErrUnsafe, "a transaction was begun on the connection and not ended, so that nothing is committed; end it")
	}
	if session.Binlog && session.Format == "STATEMENT" {
		c.findf(unless(n.unsafe, ErrUnsafe), "binlog_format is STATEMENT: a replica holds the statements against its own settings, draws nothing, and is behind when it takes over; "+
			"set it to MIXED or ROW")
	}
	c.galera, c.readOnly = session.Galera != nil, session.ReadOnly
	c.found(session.Durability(), n.unsafe)
	return session, nil
}

// found adds findings of the dialect. Unsafe is what [Config.AllowUnsafe] says.
func (c *condition) found(findings []dialect.Finding, unsafe bool) {
	for _, f := range findings {
		var err error
		switch {
		case f.Refused && f.ReadOnly:
			err = ErrReadOnly
		case f.Refused:
			err = unless(unsafe, ErrUnsafe)
		}
		c.findings = append(c.findings, Finding{Err: err, Text: f.Text})
	}
}

// unless returns the error if the condition does not hold.
func unless(condition bool, err error) error {
	if condition {
		return nil
	}
	return err
}

// durable makes the commit of the statement that it is a column of wait for the disk, whatever the session's setting.
const durable = "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"
