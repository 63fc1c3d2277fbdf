package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// What steps of several dialects say.
const (
	widenTitle = "give … of … 64 bits"
	keptWide   = "the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not"
	heldSince  = "Now deploy the program that fills its keys with snowflakes, and stop every writer that leaves them to the database. Until the plan is done, change nothing else in the definitions of its tables."
	stillOld   = "So a writer is at work that leaves its keys to the database: find it by what it inserts, stop it or deploy it as one that fills keys, and run again."
)

// widenBuilder makes plans of the mode widen, and the beginning of those of rekey.
type widenBuilder struct{ *builder }

func (b widenBuilder) steps(ctx context.Context) error {
	for _, c := range b.columns {
		b.fit(ctx, c)
	}
	return b.engine.widen(ctx)
}

// narrow reports whether the column has to get 64 bits.
func (c *column) narrow() bool { return c.column.Class == catalog.Integer && c.column.Bits < 64 }

// full returns the column with its table, for sentences.
func (c *column) full() string { return c.table + "." + c.column.Name }

// fit blocks a column that cannot hold snowflakes, and cannot be given a type that does.
func (b widenBuilder) fit(ctx context.Context, c *column) {
	if c.of.Versioned {
		b.block(fmt.Sprintf("%s keeps its history, with which the server changes no types and makes no indexes (4119): drop the versioning first, and set it up again afterwards.", c.table))
	}
	if c.of.Related != "" && c.of.Related != "partitioned" {
		b.block(fmt.Sprintf("%s is %s: it is not certain that a change reaches all the tables that share its columns, and only these: take it out of the inheritance first.", c.table, c.of.Related))
	}
	switch col := c.column; {
	case col.Name == "FTS_DOC_ID" && strings.Contains(c.of.Create, "\n  FULLTEXT KEY "):
		b.block(fmt.Sprintf("%s has the document ids of full-text indexes, which may only ascend (182), and ids of several generators do not: drop the full-text indexes of %s, "+
			"give the column another name, and make them again. The server has document ids of its own then.", c.full(), c.table))
	case col.Auto == "AUTO_INCREMENT" && strings.Contains(strings.ToUpper(col.Extra), "INVISIBLE") && b.instantFlip():
		b.block(fmt.Sprintf("%s is invisible, and without AUTO_INCREMENT would have to have a default (4108): make it visible first.", c.full()))
	case c.narrow() && col.Domain:
		b.block(fmt.Sprintf("%s has the domain %s, over a type of %d bits: give it the type itself, or a domain over bigint, first.", c.full(), col.Type, col.Bits))
	case col.Generated != "":
		b.block(fmt.Sprintf("%s is generated as %s: make it a column that is written to first.", c.full(), col.Generated))
	case col.Class == catalog.Floating:
		b.block(fmt.Sprintf("%s has the type %s, which rounds snowflakes: make it an integer first.", c.full(), col.Type))
	case (col.Class == catalog.Decimal || col.Class == catalog.Text) && col.Digits != 0 && col.Digits < catalog.KeyDigits:
		b.block(fmt.Sprintf("%s has the type %s, which holds %d digits, and snowflakes have %d: give it a wider one first.", c.full(), col.Type, col.Digits, catalog.KeyDigits))
	case col.Domain && b.dialect() == dialect.Postgres:
		if _, err := b.db.ExecContext(ctx, fmt.Sprintf("SELECT CAST('%d' AS %s)", int64(1)<<62, col.Type)); err != nil {
			b.block(fmt.Sprintf("%s has the domain %s, which does not take ids of %d digits: give it another type first. %v.", c.full(), col.Type, catalog.KeyDigits, err))
		}
	case col.Class == catalog.Time || col.Class == catalog.JSON || col.Class == catalog.Other && b.dialect() != dialect.SQLite:
		b.block(fmt.Sprintf("%s has the type %s, which cannot be a reference to an integer: inspect with --reference '!%s=…' when it is none.", c.full(), col.Type, c.full()))
	}
}

// ofTable returns the columns of b.columns in groups by table, in the order in which the tables come in them, references before what they
// refer to: so the width of a reference is never less than that of a key with snowflakes in it.
func (b *builder) ofTable(wanted func(*column) bool) [][]*column {
	var groups [][]*column
	place := map[string]int{}
	for i := len(b.columns) - 1; i >= 0; i-- {
		c := b.columns[i]
		if !wanted(c) {
			continue
		}
		at, ok := place[c.table]
		if !ok {
			at = len(groups)
			place[c.table], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}
