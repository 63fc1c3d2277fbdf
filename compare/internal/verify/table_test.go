package verify_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/compare/strategy"
)

// model is a row with a key that the client makes.
type model[K any] struct {
	ID K `gorm:"primaryKey;autoIncrement:false"`
	strategy.Order
}

// table keeps rows with keys of the type K.
type table[K any] struct {
	db   *gorm.DB
	name string
	s    *source
	key  func(K) strategy.Key
	of   func(strategy.Key) K
	lose int // the row of each INSERT that is not inserted, from 1
}

func newTable[K any](db *gorm.DB, name string, s *source, key func(K) strategy.Key, of func(strategy.Key) K) (*table[K], error) {
	return &table[K]{db: db, name: name, s: s, key: key, of: of}, db.Table(name).Migrator().CreateTable(new(model[K]))
}

func (t *table[K]) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	rows, made := make([]model[K], len(orders)), make([]strategy.Key, len(orders))
	for i, order := range orders {
		n, err := t.s.next(ctx)
		if err != nil {
			return nil, err
		}
		rows[i] = model[K]{t.of(number(n)), order}
		made[i] = t.key(rows[i].ID)
	}
	if t.lose > 0 && len(rows) >= t.lose {
		rows = append(rows[:t.lose-1], rows[t.lose:]...)
	}
	return made, t.db.WithContext(ctx).Table(t.name).Create(rows).Error
}

func (t *table[K]) Find(ctx context.Context, key strategy.Key) (strategy.Key, strategy.Order, error) {
	var row model[K]
	err := t.db.WithContext(ctx).Table(t.name).Where("id = ?", t.of(key)).Take(&row).Error
	return t.key(row.ID), row.Order, err
}

func (t *table[K]) Ordered(ctx context.Context, n int, see func(strategy.Key, strategy.Order) error) error {
	var rows []model[K]
	err := t.db.WithContext(ctx).Table(t.name).Order(clause.OrderByColumn{Column: clause.Column{Name: "id"}}).Limit(n).Find(&rows).Error
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := see(t.key(row.ID), row.Order); err != nil {
			return err
		}
	}
	return nil
}

func (t *table[K]) Beside(context.Context, *gorm.DB, int) (strategy.Table, error) {
	return nil, errors.ErrUnsupported
}

func (t *table[K]) Column() (string, int) { return "planted", 8 }

// counted is a table whose keys the database makes.
type counted struct {
	db   *gorm.DB
	name string
}

type countedModel struct {
	ID int64 `gorm:"primaryKey"`
	strategy.Order
}

func newCounted(db *gorm.DB, name string, _ *source) (strategy.Table, error) {
	return &counted{db, name}, db.Table(name).Migrator().CreateTable(new(countedModel))
}

func (t *counted) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	rows := make([]countedModel, len(orders))
	for i := range orders {
		rows[i].Order = orders[i]
	}
	err := t.db.WithContext(ctx).Table(t.name).Create(rows).Error
	made := make([]strategy.Key, len(rows))
	for i := range rows {
		made[i] = number(rows[i].ID)
	}
	return made, err
}

func (t *counted) Find(ctx context.Context, key strategy.Key) (strategy.Key, strategy.Order, error) {
	var row countedModel
	err := t.db.WithContext(ctx).Table(t.name).Where("id = ?", toNumber(key)).Take(&row).Error
	return number(row.ID), row.Order, err
}

func (t *counted) Ordered(ctx context.Context, n int, see func(strategy.Key, strategy.Order) error) error {
	var rows []countedModel
	if err := t.db.WithContext(ctx).Table(t.name).Order("id").Limit(n).Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		if err := see(number(row.ID), row.Order); err != nil {
			return err
		}
	}
	return nil
}

func (t *counted) Beside(context.Context, *gorm.DB, int) (strategy.Table, error) {
	return nil, errors.ErrUnsupported
}

func (t *counted) Column() (string, int) { return "integer", 8 }

// short is a number that reaches the database with its low 32 bits only.
type short int64

func (short) GormDataType() string { return "bigint" }

func (s short) Value() (driver.Value, error) { return int64(int32(s)), nil }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// base62 writes a number in eleven digits, in the order of ASCII.
func base62(n int64) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	text := make([]byte, 11)
	for i := len(text) - 1; i >= 0; i-- {
		text[i], n = digits[n%62], n/62
	}
	return string(text)
}
