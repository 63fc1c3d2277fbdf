package gormplugin

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// After selects the rows whose primary key is greater than id, in ascending order of the key. With a limit it reads a table page by page at the
// same cost for every page:
//
//	db.Scopes(gormplugin.After(last)).Limit(20).Find(&page) // last = page[len(page)-1].ID, until the page is not full
//
// The zero id begins with the first page. The key is any number, or a key of 16 bytes of package sqltype, filled in by the plugin or not; of a composite
// key the member named ID. After fits wherever [CreatedBetween] does, and goes with it, but only in statements that read.
//
// A row present from the first page to the last is read once, whatever is inserted or deleted meanwhile. A row inserted meanwhile is read only when
// its key is greater than that of the last page. Keys of several generators, and of long transactions, become visible out of their order: to follow a
// table for new rows, stay behind the present by the longest transaction, with [CreatedBefore].
//
// The statement fails with [ErrKey] for keys that are text in the database, or of another type than the 16 bytes given, [gorm.ErrModelValueRequired] without a model, and [ErrScope] in an
// Update or Delete, or with another order: of db.Order, Last or [Before]. First, FindInBatches and Count are welcome.
func After[K ~int | ~int64 | ~uint | ~uint64 | ~[16]byte](id K) func(*gorm.DB) *gorm.DB {
	return keyset{id: id, start: id == *new(K)}.scope
}

// Before selects the rows whose primary key is less than id, in descending order of the key. The zero id begins with the newest row. All
// else is as with [After], with Last in place of First.
func Before[K ~int | ~int64 | ~uint | ~uint64 | ~[16]byte](id K) func(*gorm.DB) *gorm.DB {
	return keyset{id: id, start: id == *new(K), desc: true}.scope
}

// keyset is what follows an id in the order of the primary key, as a condition.
type keyset struct {
	id    any
	start bool // id is zero
	desc  bool
}

var _ clause.Expression = keyset{}

func (k keyset) scope(db *gorm.DB) *gorm.DB { return narrow(db, k) }

// Build writes the condition and orders the statement.
func (k keyset) Build(builder clause.Builder) {
	stmt, err := statementOf(builder)
	if err == nil {
		err = k.requireOrder(stmt, stmt.Schema.PrioritizedPrimaryField)
	}
	if err == nil {
		err = k.order(stmt)
	}
	if err != nil {
		refuse(builder, err)
		return
	}
	builder.WriteQuoted(clause.PrimaryColumn)
	switch {
	case k.start:
		_, _ = builder.WriteString(" IS NOT NULL") // all, and yet a condition
		return
	case k.desc:
		_, _ = builder.WriteString(" < ")
	default:
		_, _ = builder.WriteString(" > ")
	}
	builder.AddVar(builder, k.id)
}

// requireOrder fails unless the id is in one order with the keys: 16 bytes with those of their type, and numbers with numbers.
func (k keyset) requireOrder(stmt *gorm.Statement, key *schema.Field) error {
	of := reflect.TypeOf(k.id)
	octets := leastOctets(key) != nil
	if !octets && of.Kind() != reflect.Array {
		return requireNumber(stmt, key)
	}
	if !octets || key.IndirectFieldType != of {
		return fmt.Errorf("%w: After and Before were given a %s, and the keys of %s are no such ones", ErrKey, of, stmt.Schema.Name)
	}
	return nil
}

// order orders the statement by the key, or fails when it has another order. It runs while WHERE is built, before ORDER BY: only then are
// the effects of all scopes, First, FindInBatches and Count known.
func (k keyset) order(stmt *gorm.Statement) error {
	if !slices.Contains(stmt.BuildClauses, "SELECT") {
		return fmt.Errorf("%w: After and Before read pages, and change none", ErrScope)
	}
	if counts(stmt) {
		return nil
	}
	order, _ := stmt.Clauses["ORDER BY"].Expression.(clause.OrderBy)
	switch {
	case order.Expression == nil && len(order.Columns) == 0:
		stmt.AddClause(clause.OrderBy{Columns: []clause.OrderByColumn{{Column: clause.PrimaryColumn, Desc: k.desc}}})
	case order.Expression != nil || order.Columns[0].Column != clause.PrimaryColumn || order.Columns[0].Desc != k.desc:
		return fmt.Errorf("%w: After and Before order it by the key themselves; leave out the other order", ErrScope)
	}
	return nil
}

// counts reports whether a statement asks for the number of rows, and nothing else: PostgreSQL takes no order there. It is one of Count,
// which has GORM scan an int64 of what begins as Count wants it, or the select list is a count. A count over a window is none.
func counts(stmt *gorm.Statement) bool {
	var selected string
	if e, ok := stmt.Clauses["SELECT"].Expression.(clause.Expr); ok {
		selected = e.SQL // of Count, or a Select with arguments
	} else if len(stmt.Selects) > 0 {
		selected = strings.Join(stmt.Selects, ", ")
	}
	_, number := stmt.Dest.(*int64)
	return countAlone.MatchString(selected) || number && countFirst.MatchString(selected) && !window.MatchString(selected)
}

var (
	countAlone = regexp.MustCompile(`(?i)^\s*count\(([^()]|\([^()]*\))*\)\s*$`)
	countFirst = regexp.MustCompile(`(?i)^\s*count\(`)
	window     = regexp.MustCompile(`(?i)\bover\b`)
)
