package strategy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
)

// keys are those of one process, from a source of K, which stand in columns as C.
type keys[K, C any] struct {
	source idgen.Source[K] // nil: the database makes the keys
	column column[K, C]
	close  func() error // once
	room   sync.Pool    // of *[]K, so that Batch times the source and not the allocation
}

func newKeys[K, C any](source idgen.Source[K], column column[K, C]) *keys[K, C] {
	return &keys[K, C]{source: source, column: column, close: sync.OnceValue(func() (err error) {
		defer caught(&err)
		return closed(source)
	})}
}

func (k *keys[K, C]) Next(ctx context.Context) (_ Key, err error) {
	defer caught(&err)
	if k.source == nil {
		return "", errors.ErrUnsupported
	}
	key, err := k.source.Next(ctx)
	if err != nil {
		return "", err
	}
	return k.column.key(k.column.set(key))
}

func (k *keys[K, C]) Generate(ctx context.Context, n int) (err error) {
	defer caught(&err)
	if k.source == nil {
		return errors.ErrUnsupported
	}
	for range n {
		if _, err := k.source.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (k *keys[K, C]) Fill(ctx context.Context, n int) (_ []Key, err error) {
	defer caught(&err)
	if k.source == nil {
		return nil, errors.ErrUnsupported
	}
	made := make([]K, n)
	if err := k.source.Fill(ctx, made); err != nil {
		return nil, err
	}
	all := make([]Key, n)
	for i, key := range made {
		if all[i], err = k.column.key(k.column.set(key)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (k *keys[K, C]) Batch(ctx context.Context, n int) (err error) {
	defer caught(&err)
	if k.source == nil {
		return errors.ErrUnsupported
	}
	room, _ := k.room.Get().(*[]K)
	if room == nil || cap(*room) < n {
		made := make([]K, n)
		room = &made
	}
	defer k.room.Put(room)
	return k.source.Fill(ctx, (*room)[:n])
}

func (k *keys[K, C]) Text(key Key) string { return k.column.text(key) }

func (k *keys[K, C]) Number(key Key) (int64, bool) { return k.column.number(key) }

func (k *keys[K, C]) Table(ctx context.Context, db *gorm.DB, name string) (Table, error) {
	t, err := k.table(db, name)
	if err != nil {
		return nil, err
	}
	if err := t.create(ctx); err != nil {
		return nil, fmt.Errorf("create the table %s: %w", name, err)
	}
	return t, nil
}

// table returns a table that is there, over a session that the plugin is given to where there is one.
func (k *keys[K, C]) table(db *gorm.DB, name string) (*table[K, C], error) {
	if k.source != nil && k.column.plugin != nil {
		if err := db.Use(k.column.plugin(k.source)); err != nil {
			return nil, fmt.Errorf("have the keys of the table %s filled in: %w", name, err)
		}
	}
	return &table[K, C]{name: name, db: db, keys: k}, nil
}

// writer returns the keys of the n-th writer: of a fleet, those of another process.
func (k *keys[K, C]) writer(n int) *keys[K, C] {
	if fleet, ok := any(k.source).(interface{ Writer(n int) idgen.Source[K] }); ok {
		return &keys[K, C]{source: fleet.Writer(n), column: k.column}
	}
	return k
}

func (k *keys[K, C]) Close() error { return k.close() }
