package strategy

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// row is the model of a table whose keys come from a source. Where the plugin is registered, the tag has it fill in texts too.
type row[C any] struct {
	ID C `gorm:"primaryKey;autoIncrement:false;snowkey"`
	Order
}

// counted is the model of a table whose keys the database counts.
type counted struct {
	ID int64 `gorm:"primaryKey"`
	Order
}

// table is a table whose keys are a C.
type table[K, C any] struct {
	name string
	db   *gorm.DB
	keys *keys[K, C]

	column   string // the type of the key's column
	greatest Key    // that was inserted
}

// errTable says that a table to be made is there.
var errTable = errors.New("there is one of this name")

// create makes the table and learns what its column is.
func (t *table[K, C]) create(ctx context.Context) error {
	var model any = new(row[C])
	if t.keys.source == nil {
		model = new(counted)
	}
	db := t.db.WithContext(ctx).Table(t.name)
	if db.Migrator().HasTable(t.name) {
		return errTable
	}
	if err := db.AutoMigrate(model); err != nil {
		return err
	}
	if err := db.Statement.Parse(model); err != nil {
		return err
	}
	id := db.Statement.Schema.LookUpField("ID")
	if m, ok := db.Migrator().(interface{ DataTypeOf(*schema.Field) string }); ok {
		t.column = m.DataTypeOf(id)
	} else {
		t.column = db.Migrator().FullDataTypeOf(id).SQL
	}
	return nil
}

// Insert is [Table.Insert]. The drivers bound how many orders one statement can have: 6,553 on SQLite, 13,107 elsewhere.
func (t *table[K, C]) Insert(ctx context.Context, orders []Order) ([]Key, error) {
	db := t.db.WithContext(ctx).Table(t.name)
	if len(orders) == 0 {
		return nil, nil
	}
	if t.keys.source == nil {
		rows := make([]counted, len(orders))
		for i := range orders {
			rows[i].Order = orders[i]
		}
		if err := db.Create(rows).Error; err != nil {
			return nil, err
		}
		return t.inserted(len(rows), func(i int) (Key, error) { return numberKey(rows[i].ID) })
	}
	rows, err := t.rows(ctx, orders)
	if err != nil {
		return nil, err
	}
	if err := db.Create(rows).Error; err != nil {
		return nil, err
	}
	return t.inserted(len(rows), func(i int) (Key, error) { return t.keys.column.key(rows[i].ID) })
}

// rows makes the rows of orders, with their keys where no plugin sets them.
func (t *table[K, C]) rows(ctx context.Context, orders []Order) ([]row[C], error) {
	rows := make([]row[C], len(orders))
	for i := range orders {
		rows[i].Order = orders[i]
	}
	if t.keys.column.plugin != nil {
		return rows, nil
	}
	made := make([]K, len(orders))
	if err := (filling[K]{t.keys.source}).Fill(ctx, made); err != nil {
		return nil, err
	}
	for i, key := range made {
		rows[i].ID = t.keys.column.set(key)
	}
	return rows, nil
}

// inserted returns the keys of rows that were inserted, and remembers the greatest.
func (t *table[K, C]) inserted(n int, of func(i int) (Key, error)) (all []Key, err error) {
	all = make([]Key, n)
	for i := range all {
		if all[i], err = of(i); err != nil {
			return nil, err
		}
		t.greatest = max(t.greatest, all[i])
	}
	return all, nil
}

func (t *table[K, C]) Find(ctx context.Context, key Key) (Key, Order, error) {
	id, err := t.keys.column.read(key)
	if err != nil {
		return "", Order{}, err
	}
	var found row[C]
	if err := t.db.WithContext(ctx).Table(t.name).Where("id = ?", id).Take(&found).Error; err != nil {
		return "", Order{}, fmt.Errorf("find the key %s in the table %s: %w", t.keys.Text(key), t.name, err)
	}
	got, err := t.keys.column.key(found.ID)
	found.CreatedAt = found.CreatedAt.UTC() // PostgreSQL's driver gives it in the zone of the machine
	return got, found.Order, err
}

func (t *table[K, C]) Ordered(ctx context.Context, n int, see func(Key, Order) error) (err error) {
	rows, err := t.db.WithContext(ctx).Table(t.name).Select("id", "customer_id", "status", "total", "created_at").Order("id").Limit(n).Rows()
	if err != nil {
		return err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for rows.Next() {
		var id C
		var order Order
		if err := rows.Scan(&id, &order.CustomerID, &order.Status, &order.Total, &order.CreatedAt); err != nil {
			return err
		}
		order.CreatedAt = order.CreatedAt.UTC()
		key, err := t.keys.column.key(id)
		if err != nil {
			return err
		}
		if err := see(key, order); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t *table[K, C]) Beside(_ context.Context, db *gorm.DB, n int) (Table, error) {
	beside, err := t.keys.writer(n).table(db, t.name)
	if err != nil {
		return nil, err
	}
	beside.column = t.column
	return beside, nil
}

// Column is [Table.Column]. The bytes are those of a key itself, without a length that the database notes before it. On SQLite integers have
// one to nine by their value, and these are the greatest key's.
func (t *table[K, C]) Column() (name string, bytes int) {
	bytes = t.keys.column.bytes
	if n, ok := t.keys.Number(t.greatest); ok && t.db.Name() == "sqlite" {
		bytes = varint(n)
	} else if bytes == 0 {
		bytes = len(t.greatest)
	}
	return t.column, bytes
}

// varint is how many bytes SQLite has a key in, which is the rowid: seven bits in each of eight, all of the ninth.
func varint(n int64) int {
	bytes := 1
	for rest := uint64(n) >> 7; rest > 0 && bytes < 9; rest >>= 7 {
		bytes++
	}
	return bytes
}
