package grant

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Dialect is a database's SQL. The zero value is none. Its String method returns "mysql", "postgres" or "sqlite", the names that GORM's
// dialectors have too.
type Dialect = dialect.Dialect

// The dialects. MySQL is MariaDB's as well.
const (
	MySQL    = dialect.MySQL
	Postgres = dialect.Postgres
	SQLite   = dialect.SQLite
)

// LookupDialect returns the dialect with the name that String gives it. The error for another name wraps [ErrDialect].
func LookupDialect(name string) (Dialect, error) {
	if d, ok := dialect.Lookup(name); ok {
		return d, nil
	}
	return 0, fmt.Errorf("%w: %q, want mysql, postgres or sqlite", ErrDialect, name)
}

// DefaultTable is the table that grants are kept in when none is named.
const DefaultTable = "snowkey_nodes"

// DDL returns the statement that makes the table of grants where there is none, [DefaultTable] when the name is empty. A name is
// one of letters, digits and underlines, up to 63 of them and no digit first, or two such names with a dot between them: the
// schema's, which is a database on MySQL, and the table's. It is quoted, so PostgreSQL takes it letter by letter. The error wraps
// [ErrTable] for another name, and [ErrDialect] for a value that is no dialect.
func DDL(d Dialect, table string) (string, error) {
	if table == "" {
		table = DefaultTable
	}
	if err := checkTable(d, table); err != nil {
		return "", err
	}
	return statementsOf(d, d.Quote(table)).create, nil
}

func checkTable(d Dialect, table string) error {
	if !d.Valid() {
		return fmt.Errorf("%w: %v, want grant.MySQL, grant.Postgres or grant.SQLite", ErrDialect, d)
	}
	if !dialect.ValidName(table) {
		return fmt.Errorf("%w: its name %q is not one of up to 63 letters, digits and underlines, with a schema's and a dot before it or without",
			ErrTable, table)
	}
	return nil
}

// statements are what an [SQLStore] runs, each with its parameters in the order that its comment names.
type statements struct {
	create  string
	header  string // space: the rows of a space itself
	insert  string // space, node, holder, from, until, layout: adds the row if there is none, else does nothing
	echo    string // space, node, holder, from, until: counts the rows with exactly that; empty where insert stores what it is given or fails
	swap    string // holder, from, until, space, node, holder, until
	mark    string // what is left beyond the new mark, space, the same: raises the space's mark
	count   string // space: counts an added row
	gone    string // space, space, space: from, until of the space's own row, how many others there are, and until when numbers without one are held
	absent  string // until, space, until: has these held
	recount string // from after, space, from before: counts rows that are gone no more
	name    string // layout after, space, layout before: says that the space moves
	copy    string // space after, space before: adds the space's own row under another name
	move    string // space after, space before: has all other rows under that name
	empty   string // 2^63-1 twice, space: the space's own row is that of one without rows
	list    string // space, space, least, most: the clock, how many rows the space has, and its own two and the others; NULLs beside the first two when there are none
	losses  string // space
	spaces  string
	has     string   // space: a row if the table has the space
	rights  []string // need the rights that granting does, and change nothing
}

// What the statements are made of, with @ for the quoted table and ? for parameters. The rows of nodes below 0 are of the space itself: that of
// node -1 has its layout, its identity in the holder, in from_tick how many rows can still be added before 2^63-1 were, and in until_tick how many
// ticks the mark is before 2^63-1: so a column that is made narrower is noticed. That of node -2, if there is one, says in until_tick until when numbers
// without a row are held. Those below are losses.
const (
	createText = `CREATE TABLE IF NOT EXISTS @ (
    space      varchar(64)%[1]s  NOT NULL,
    node       bigint NOT NULL,
    holder     varchar(128)%[1]s NOT NULL,
    from_tick  bigint NOT NULL,
    until_tick bigint NOT NULL,
    layout     varchar(255)%[1]s NOT NULL,
    PRIMARY KEY (space, node)
)`
	headerText = "SELECT space, holder, from_tick, until_tick, layout FROM @ WHERE space = ? AND node = -1"
	insertText = "INSERT INTO @ (space, node, holder, from_tick, until_tick, layout) VALUES (?, ?, ?, ?, ?, ?)"
	echoText   = "SELECT COUNT(*) FROM @ WHERE space = ? AND node = ? AND holder = ? AND from_tick = ? AND until_tick = ?"
	swapText   = "UPDATE @ SET holder = ?, from_tick = ?, until_tick = ? WHERE space = ? AND node = ? AND holder = ? AND until_tick = ?"
	markText   = "UPDATE @ SET until_tick = ? WHERE space = ? AND node = -1 AND until_tick > ?"
	countText  = "UPDATE @ SET from_tick = from_tick - 1 WHERE space = ? AND node = -1"
	goneText   = "SELECT from_tick, until_tick, (SELECT COUNT(*) FROM @ WHERE space = ? AND node >= 0)," +
		" COALESCE((SELECT until_tick FROM @ WHERE space = ? AND node = -2), 0) FROM @ WHERE space = ? AND node = -1"
	absentText  = "UPDATE @ SET until_tick = ? WHERE space = ? AND node = -2 AND until_tick < ?"
	recountText = "UPDATE @ SET from_tick = ? WHERE space = ? AND node = -1 AND from_tick = ?"
	nameText    = "UPDATE @ SET layout = ? WHERE space = ? AND node = -1 AND layout = ?"
	copyText    = "INSERT INTO @ (space, node, holder, from_tick, until_tick, layout) SELECT ?, node, holder, from_tick, until_tick, layout FROM @ WHERE space = ? AND node = -1"
	moveText    = "UPDATE @ SET space = ? WHERE space = ? AND node <> -1"
	emptyText   = "UPDATE @ SET from_tick = ?, until_tick = ? WHERE space = ? AND node = -1"
	listText    = "SELECT clock.micros, clock.nodes, n.node, n.holder, n.from_tick, n.until_tick FROM" +
		" (SELECT %s AS micros, (SELECT COUNT(*) FROM @ WHERE space = ? AND node >= 0) AS nodes) AS clock" +
		" LEFT JOIN @ AS n ON n.space = ? AND (n.node IN (-2, -1) OR n.node BETWEEN ? AND ?) ORDER BY n.node"
	lossesText = "SELECT node, holder, from_tick, until_tick, layout FROM @ WHERE space = ? AND node < -2 ORDER BY node DESC"
	spacesText = "SELECT space, layout, holder, from_tick, until_tick FROM @ WHERE node = -1 ORDER BY space"
	hasText    = "SELECT 1 FROM @ WHERE space = ? AND node = -1"
	insertNone = "INSERT INTO @ (space, node, holder, from_tick, until_tick, layout) SELECT space, node, holder, from_tick, until_tick, layout FROM @ WHERE 1 = 0"
	updateNone = "UPDATE @ SET holder = holder, from_tick = from_tick, until_tick = until_tick WHERE 1 = 0"
)

// statementsOf returns the statements for a table by its quoted name.
func statementsOf(d Dialect, quoted string) statements {
	s := statements{
		header: headerText, insert: insertText, swap: swapText, mark: markText, count: countText, gone: goneText, absent: absentText, recount: recountText,
		name: nameText, copy: copyText, move: moveText, empty: emptyText,
		losses: lossesText, spaces: spacesText, has: hasText,
	}
	switch d {
	case MySQL:
		s.create = fmt.Sprintf(createText, "") + " ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"
		// Under READ UNCOMMITTED a plain SELECT returns a layout that may never be committed.
		s.header += " LOCK IN SHARE MODE"
		// IGNORE leaves out the row that is there already, and nothing else in its place can: ON DUPLICATE KEY UPDATE counts a row that
		// stays as it is under clientFoundRows. But it also stores the nearest value that a narrower column has.
		s.insert = strings.Replace(s.insert, "INSERT", "INSERT IGNORE", 1)
		s.echo = echoText
		// All older collations, ascii_bin too, hold "a" and "a " for equal.
		s.swap = strings.Replace(s.swap, "AND holder = ?", "AND CAST(holder AS BINARY) = CAST(? AS BINARY)", 1)
	case Postgres:
		s.create = fmt.Sprintf(createText, ` COLLATE "C"`)
		// The driver would not send a number that is beyond a narrower column, and the server says more.
		s.insert = strings.Replace(s.insert, "?, ?, ?)", "CAST(? AS bigint), CAST(? AS bigint), ?)", 1) + " ON CONFLICT DO NOTHING"
	case SQLite:
		s.create = fmt.Sprintf(createText, "")
		s.insert += " ON CONFLICT DO NOTHING"
	}
	s.list = fmt.Sprintf(listText, d.Clock())
	for _, text := range []*string{&s.create, &s.header, &s.insert, &s.echo, &s.swap, &s.mark, &s.count, &s.gone, &s.absent, &s.recount, &s.name, &s.copy, &s.move, &s.empty, &s.list, &s.losses, &s.spaces, &s.has} {
		*text = strings.ReplaceAll(d.Bind(*text), "@", quoted)
	}
	if d != SQLite { // which has no accounts
		s.rights = []string{strings.ReplaceAll(insertNone, "@", quoted), strings.ReplaceAll(updateNone, "@", quoted)}
	}
	return s
}

// syncCommit makes the commit of the transaction that it is run in wait for the disk, on PostgreSQL. A session cannot change that elsewhere.
const syncCommit = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')"
