package partition

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// statements is what a dialect has for the steps. A SELECT among the statements has to return no row.
type statements interface {
	// partition returns the name of a partition, which is a table's on PostgreSQL.
	partition(c piece) string
	// names returns the names that a partition cannot have.
	names() []string
	// make makes partitions, a step each on PostgreSQL and all in one on MySQL.
	make(pieces []piece) []Step
	// detach makes a partition a table, which is marked.
	detach(part Part, d Detached) []string
	mark(d Detached) []string
	drop(d Detached) []string
}

func statementsOf(d Dialect, t Table, s Status) statements {
	if d == dialect.MySQL {
		return mysqlStatements{t, s}
	}
	return postgresStatements{t, s}
}

type postgresStatements struct {
	t Table
	s Status
}

func (p postgresStatements) place(schema, name string) string {
	return dialect.Postgres.QuotePlace(dialect.Place{Schema: schema, Table: name})
}

func (p postgresStatements) table() string { return p.place(p.s.Schema, p.s.Name) }

func (p postgresStatements) transaction(statements ...string) []string {
	begin := []string{"BEGIN ISOLATION LEVEL READ COMMITTED", fmt.Sprintf("SET LOCAL lock_timeout = '%dms'", max(1, p.t.LockWait.Milliseconds()))}
	return append(append(begin, statements...), "COMMIT")
}

// shortWait is for foreign keys, which lock the other table too. Who has that one and waits for this one is let go before PostgreSQL's deadlock_timeout of a
// second, which would end the other's transaction.
func (p postgresStatements) shortWait() string {
	return fmt.Sprintf("SET LOCAL lock_timeout = '%dms'", min(max(1, p.t.LockWait.Milliseconds()), 500))
}

func (p postgresStatements) partition(c piece) string { return p.s.Name + "_" + nameOf(c.From) }
func (p postgresStatements) names() []string          { return p.s.Taken }

func (p postgresStatements) finalize(part Part) []string {
	return p.alone("ALTER TABLE " + p.table() + " DETACH PARTITION " + p.place(part.Schema, part.Name) + " FINALIZE")
}

// alone is a statement that no transaction may have.
func (p postgresStatements) alone(statement string) []string {
	return []string{fmt.Sprintf("SET lock_timeout = '%dms'", max(1, p.t.LockWait.Milliseconds())), statement}
}

func (p postgresStatements) comment(schema, name, text string) string {
	return "COMMENT ON TABLE " + p.place(schema, name) + " IS " + dialect.Literal(text)
}

func (p postgresStatements) unmark(part Part) []string {
	return p.transaction("COMMENT ON TABLE " + p.place(part.Schema, part.Name) + " IS NULL")
}

func (p postgresStatements) make(pieces []piece) (steps []Step) {
	for _, c := range pieces {
		steps = append(steps, Step{Action: Make, Name: p.partition(c), Range: c.Range, Rows: c.rows, SQL: p.makeOne(c)})
	}
	return steps
}

// makeOne has ATTACH PARTITION rather than PARTITION OF, which keeps all readers and writers of the whole table out: they wait only where rows are moved or may come. The new table gets no identity column of
// its own, which would count from 1, and which PostgreSQL 17 does not attach.
func (p postgresStatements) makeOne(c piece) []string {
	made := p.place(p.s.Schema, p.partition(c))
	var statements []string
	if p.s.Default != nil && (c.rows > 0 || !c.From.After(p.s.Now)) {
		// First of all: a statement that waits for the default partition alone has looked up the partitions before. It misses the rows that are moved, and an
		// INSERT of a row of now is refused.
		statements = append(statements, fmt.Sprintf("LOCK TABLE ONLY %s, ONLY %s IN ACCESS EXCLUSIVE MODE", p.table(), p.place(p.s.Default.Schema, p.s.Default.Name)),
			p.shortWait())
	}
	statements = append(statements, "CREATE TABLE "+made+" (LIKE "+p.table()+" INCLUDING ALL EXCLUDING IDENTITY)")
	if p.s.owner != "" { // who could not alter the divided table otherwise
		statements = append(statements, "ALTER TABLE "+made+" OWNER TO "+dialect.Postgres.QuoteAny(p.s.owner))
	}
	if c.rows > 0 {
		var columns []string
		for _, column := range p.s.columns {
			columns = append(columns, dialect.Postgres.QuoteAny(column))
		}
		list, key := strings.Join(columns, ", "), dialect.Postgres.Quote(p.t.Key)
		statements = append(statements, fmt.Sprintf("WITH moved AS (DELETE FROM %s WHERE %s >= %d AND %s < %d RETURNING %s) INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM moved",
			p.place(p.s.Default.Schema, p.s.Default.Name), key, c.FromID, key, c.ToID, list, made, list, list))
	}
	return p.transaction(append(statements, fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", p.table(), made, c.FromID, c.ToID))...)
}

// detach is CONCURRENTLY where PostgreSQL takes that: without a default partition.
func (p postgresStatements) detach(part Part, d Detached) []string {
	detach := "ALTER TABLE " + p.table() + " DETACH PARTITION " + p.place(part.Schema, part.Name)
	comment := p.comment(part.Schema, part.Name, d.mark())
	if p.s.Default != nil {
		return p.transaction(detach, comment)
	}
	return append(p.transaction(comment), p.alone(detach+" CONCURRENTLY")...)
}

func (p postgresStatements) mark(d Detached) []string {
	return p.transaction(p.comment(d.Schema, d.Name, d.mark()))
}

func (p postgresStatements) drop(d Detached) []string {
	return p.transaction("DROP TABLE " + p.place(d.Schema, d.Name))
}

type mysqlStatements struct {
	t Table
	s Status
}

func (m mysqlStatements) place(name string) string {
	return dialect.MySQL.QuotePlace(dialect.Place{Schema: m.s.Schema, Table: name})
}

func (m mysqlStatements) table() string { return m.place(m.s.Name) }

func (m mysqlStatements) partition(c piece) string { return nameOf(c.From) }

func (m mysqlStatements) names() []string {
	var names []string
	for _, part := range m.s.Parts {
		names = append(names, part.Name)
	}
	if m.s.Default != nil {
		names = append(names, m.s.Default.Name)
	}
	return names
}

// make divides the last partition, which the server does by copying its rows, or adds partitions after the last bound.
func (m mysqlStatements) make(pieces []piece) []Step {
	var parts []string
	for _, c := range pieces {
		parts = append(parts, fmt.Sprintf("PARTITION %s VALUES LESS THAN (%d)", dialect.MySQL.QuoteAny(m.partition(c)), c.ToID))
	}
	first, newest := pieces[0], pieces[len(pieces)-1]
	step := Step{Action: Make, Name: m.partition(first), Range: first.Range}
	step.ToID, step.To = newest.ToID, newest.To
	if len(pieces) > 1 {
		step.Name += " … " + m.partition(newest)
	}
	if m.s.Default == nil {
		step.SQL = []string{"ALTER TABLE " + m.table() + " ADD PARTITION (" + strings.Join(parts, ", ") + ")"}
		return []Step{step}
	}
	for _, u := range m.s.Default.Unplaced {
		step.Rows += u.Rows
	}
	last := dialect.MySQL.QuoteAny(m.s.Default.Name)
	parts = append(parts, "PARTITION "+last+" VALUES LESS THAN MAXVALUE")
	step.SQL = []string{
		fmt.Sprintf("SELECT 1 FROM %s PARTITION (%s) LIMIT 1 OFFSET %d", m.table(), last, m.t.Move),
		"ALTER TABLE " + m.table() + " REORGANIZE PARTITION " + last + " INTO (" + strings.Join(parts, ", ") + ")",
	}
	return []Step{step}
}

// shell makes the table that a partition is exchanged with, or gives one that is made another mark.
func (m mysqlStatements) shell(d Detached, made bool) []string {
	if made {
		return m.mark(d)
	}
	return []string{
		"CREATE TABLE IF NOT EXISTS " + m.place(d.Name) + " LIKE " + m.table(),
		"ALTER TABLE " + m.place(d.Name) + " COMMENT = " + dialect.Literal(d.mark()) + " REMOVE PARTITIONING",
	}
}

// detach holds the table while it looks, so that no row comes between the exchange and the end of the partition.
func (m mysqlStatements) detach(part Part, d Detached) []string {
	name := dialect.MySQL.QuoteAny(part.Name)
	return []string{
		"LOCK TABLES " + m.table() + " WRITE, " + m.place(d.Name) + " WRITE",
		"SELECT 1 FROM " + m.place(d.Name) + " LIMIT 1",
		"ALTER TABLE " + m.table() + " EXCHANGE PARTITION " + name + " WITH TABLE " + m.place(d.Name),
		"ALTER TABLE " + m.table() + " DROP PARTITION " + name,
		"UNLOCK TABLES",
	}
}

// discard drops a partition, only an empty one where asked.
func (m mysqlStatements) discard(part Part, empty bool) []string {
	name := dialect.MySQL.QuoteAny(part.Name)
	drop := "ALTER TABLE " + m.table() + " DROP PARTITION " + name
	if !empty {
		return []string{drop}
	}
	return []string{"LOCK TABLES " + m.table() + " WRITE", "SELECT 1 FROM " + m.table() + " PARTITION (" + name + ") LIMIT 1", drop, "UNLOCK TABLES"}
}

func (m mysqlStatements) mark(d Detached) []string {
	return []string{"ALTER TABLE " + m.place(d.Name) + " COMMENT = " + dialect.Literal(d.mark())}
}

func (m mysqlStatements) drop(d Detached) []string {
	drop := "DROP TABLE " + m.place(d.Name)
	if !d.empty {
		return []string{drop}
	}
	return []string{"LOCK TABLES " + m.place(d.Name) + " WRITE", "SELECT 1 FROM " + m.place(d.Name) + " LIMIT 1", drop, "UNLOCK TABLES"}
}
