package compare

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// strategy is a strategy whose keys are of the type K.
type strategy[K any] struct {
	name, about string
	limit       float64
	open        func() (keys[K], error)
}

func (s strategy[K]) Name() string   { return s.name }
func (s strategy[K]) About() string  { return s.about }
func (s strategy[K]) Limit() float64 { return s.limit }

func (s strategy[K]) Open(ctx context.Context, db *gorm.DB, name string) (Table, error) {
	keys, err := s.open()
	if err != nil {
		return nil, fmt.Errorf("make keys: %w", err)
	}
	if keys.plugin != nil {
		if err := db.Use(keys.plugin); err != nil {
			return nil, err
		}
	}
	if err := db.WithContext(ctx).Table(name).AutoMigrate(new(row[K])); err != nil {
		return nil, fmt.Errorf("create the table %s: %w", name, err)
	}
	return &table[K]{name: name, db: db, keys: keys}, nil
}

// row is the model of a strategy's table.
type row[K any] struct {
	ID K `gorm:"primaryKey"`
	Order
}

// table is a table whose keys are of the type K.
type table[K any] struct {
	name string
	db   *gorm.DB
	keys keys[K]
}

func (t *table[K]) Insert(ctx context.Context, orders []Order) error {
	rows := make([]row[K], len(orders))
	for i := range orders {
		rows[i].Order = orders[i]
		if t.keys.next != nil && t.keys.plugin == nil {
			key, err := t.keys.next(ctx)
			if err != nil {
				return err
			}
			rows[i].ID = key
		}
	}
	return t.db.WithContext(ctx).Table(t.name).Create(rows).Error
}

func (t *table[K]) Generate(ctx context.Context, n int) error {
	if t.keys.next == nil {
		return errors.ErrUnsupported
	}
	for range n {
		if _, err := t.keys.next(ctx); err != nil {
			return err
		}
	}
	return nil
}
