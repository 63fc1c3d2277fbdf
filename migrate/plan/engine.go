package plan

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// engine is what differs by database. Statements of a rekey call the table of a move c and its map m; from and to are columns of the map.
type engine interface {
	// widen adds the steps of mode widen.
	widen(context.Context) error
	// session returns the settings of sessions that rewrite rows; around the statements of a batch before and after those of its moves.
	session() []string
	around(moves []move) (before, after []string)
	// update gives the rows that have an id of the map's column from the one in its column to, where a condition on m or c holds. More is what is
	// assigned besides, beginning with a comma.
	update(source string, m move, from, to, where, more string) []string
	// value is what the map's column to has for a column that is in no document. A column of text gets a text.
	value(m move, to string) string
	// equalText is the condition that c, a column of texts, has the id; number the id that c has, as a number, NULL when it has none.
	equalText(m move, id string) string
	number(m move) string
	// encoded returns a move with how numbers become texts that are compared as the column's are.
	encoded(context.Context, move) (move, error)
	// createIndex returns a step's actions, each of which undoes the other. The table is the move's, or a partition of it.
	createIndex(t *catalog.Table, m move, name string) (do, undo Action)
	// broken adds to the counts of orphans what the database itself says of foreign keys.
	broken(all []rewriting, q *counting)
	// guard returns the steps that keep triggers from firing for the plan's rows, and those that undo them.
	guard(all []rewriting) (on, off []Step)
	// loosen lets a transaction move a key before what refers to it; tighten undoes that.
	loosen(ctx context.Context, all []rewriting) error
	tighten()
	// exclusively is what rewriting all tables at once needs around it; assign are the statements for one of them.
	exclusively(ctx context.Context, all []rewriting, tables []string) (exclusively, error)
	assign(table string, list []assignment, from, to string) []string
	// partitioning returns what a table is partitioned by, empty when it is not.
	partitioning(context.Context, *catalog.Table) (string, error)
}

// plainEngine is an engine that needs nothing of what another one does around its statements.
type plainEngine struct{ *builder }

func (plainEngine) around([]move) (before, after []string)          { return nil, nil }
func (plainEngine) loosen(context.Context, []rewriting) error       { return nil }
func (plainEngine) tighten()                                        {}
func (plainEngine) broken([]rewriting, *counting)                   {}
func (plainEngine) guard([]rewriting) (on, off []Step)              { return nil, nil }
func (plainEngine) encoded(_ context.Context, m move) (move, error) { return m, nil }
func (plainEngine) partitioning(context.Context, *catalog.Table) (by string, err error) {
	return "", nil
}

// column returns the column of a move as statements of a rekey have it.
func (b *builder) column(m move) string { return "c." + b.quote(m.column) }

// equal is the condition that c has the id of an expression.
func (b *builder) equal(m move, id string) string {
	switch {
	case m.path != nil:
		return fmt.Sprintf("%s = %s%s", b.engine.number(m), id, m.owner)
	case m.text:
		return b.engine.equalText(m, id) + m.owner
	}
	return fmt.Sprintf("%s = %s%s", b.column(m), id, m.owner)
}

func (b *builder) newEngine() engine {
	switch b.dialect() {
	case dialect.MySQL:
		return mysqlEngine{plainEngine{b}}
	case dialect.Postgres:
		return &postgresEngine{plainEngine: plainEngine{b}}
	}
	return sqliteEngine{plainEngine{b}}
}
