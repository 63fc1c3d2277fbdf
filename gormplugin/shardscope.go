package gormplugin

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// OfShardingKey selects the rows of a sharding key, with a condition on the sharding column and one on the primary key. An engine that divides
// the table by the primary key then looks into one shard:
//
//	db.Scopes(gormplugin.OfShardingKey(userID)).Find(&orders)
//
// With the bucket on top of the layout, as in [idgen.Scattered], the condition is a range of the primary key, otherwise one on its bits; package
// shard/ddl says which engines use which. Rows from before the sharding are selected too, see [shard.WithBefore].
//
// It fits wherever [CreatedBetween] does, and narrows in the same way. The sharding key must be of the kind of its column. The statement fails with
// [shard.ErrKey] for another kind or nil, [ErrKey] for keys that are text in the database, [ErrNoPlugin], [ErrNotFilled] for a model without
// the tag `gorm:"snowkey:shard=…"`, [gorm.ErrModelValueRequired] without a model, and [ErrScope] for raw SQL.
func OfShardingKey(key any) func(*gorm.DB) *gorm.DB { return ofShardingKey{by: key}.scope }

// OfShardingKeyBetween selects the rows of a sharding key created at or after one instant and before another: [OfShardingKey] and
// [CreatedBetween] together. It also takes layouts with the bucket on top, which CreatedBetween does not: then the rows are one range of the primary key.
// Rows from before the sharding have no time in their keys and are not selected. A busy bucket takes keys from up to a second ahead, so a range
// that ends now may lack rows of the last second.
func OfShardingKeyBetween(key any, from, to time.Time) func(*gorm.DB) *gorm.DB {
	return ofShardingKey{by: key, in: &created{from: from.Round(0), to: to.Round(0)}}.scope
}

// ofShardingKey is a condition on the sharding column and the primary key, which is built when the model is known.
type ofShardingKey struct {
	by any
	in *created // nil for all times
}

var _ clause.Expression = ofShardingKey{}

func (o ofShardingKey) scope(db *gorm.DB) *gorm.DB { return narrow(db, o) }

// Build writes the condition.
func (o ofShardingKey) Build(builder clause.Builder) {
	k, err := o.key(builder)
	if err != nil {
		refuse(builder, err)
		return
	}
	stmt := builder.(*gorm.Statement)
	condition, err := o.condition(k, stmt.Quote(clause.Column{Table: clause.CurrentTable, Name: k.column}))
	if err != nil {
		refuse(builder, err)
		return
	}
	builder.WriteQuoted(clause.Column{Table: clause.CurrentTable, Name: k.by.DBName})
	_, _ = builder.WriteString(" = ")
	builder.AddVar(builder, reflect.ValueOf(indirect(o.by)).Convert(k.by.IndirectFieldType).Interface()) // with the Value of that type
	_, _ = builder.WriteString(" AND " + condition)
}

// key returns the key of the statement's model, which the sharding key fits.
func (o ofShardingKey) key(builder clause.Builder) (*key, error) {
	stmt, err := statementOf(builder)
	if err != nil {
		return nil, err
	}
	plugin, ok := stmt.DB.Plugins[(*Plugin)(nil).Name()].(*Plugin)
	if !ok {
		return nil, fmt.Errorf("%w: call db.Use", ErrNoPlugin)
	}
	plan, err := plugin.plan(stmt.Schema)
	if err != nil {
		return nil, err
	}
	if plan == nil || plan.sharded == nil {
		return nil, fmt.Errorf("%w: %s has no key with the tag `gorm:\"snowkey:shard=…\"`", ErrNotFilled, stmt.Schema.Name)
	}
	by := indirect(o.by)
	if by == nil {
		return nil, fmt.Errorf("%w: it is nil or empty", shard.ErrKey)
	}
	return plan.sharded, errors.Join(plan.sharded.canBe(reflect.TypeOf(by)), requireNumber(stmt, plan.sharded.field))
}

// condition returns the condition on the column of the key. Its numbers are written and not bound, since PostgreSQL compares the expression with that
// of the partitions.
func (o ofShardingKey) condition(k *key, column string) (string, error) {
	bucket, err := k.source.bucket(o.by)
	if err != nil {
		return "", err
	}
	source, layout := k.source.sharded, k.source.sharded.Layout()
	if o.in == nil {
		condition, err := shard.Condition(layout, column, bucket)
		if err == nil && source.Before() > 0 {
			condition = fmt.Sprintf("(%s OR %s < %d)", condition, column, source.Before())
		}
		return condition, err
	}
	if least, greatest, err := shard.Range(layout, bucket); err == nil {
		r, err := o.in.boundsBelow(layout, idgen.Parts{Shard: bucket}, least, greatest)
		return fmt.Sprintf("%s BETWEEN %d AND %d%s", column, r.least, r.greatest, r.edges(column)), err
	}
	condition, err := shard.Condition(layout, column, bucket)
	if err != nil {
		return "", err
	}
	r, err := o.in.bounds(layout)
	return fmt.Sprintf("%s AND %s BETWEEN %d AND %d%s", condition, column, r.least, r.greatest, r.edges(column)), err
}
