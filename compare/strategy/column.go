package strategy

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// errKey says that bytes are not those of a key of the strategy.
var errKey = errors.New("compare: not a key of this strategy")

// column is how the keys of a source, of the type K, stand in a table's column, as a C, and how they are shown.
type column[K, C any] struct {
	set    func(K) C
	key    func(C) (Key, error)
	read   func(Key) (C, error)
	text   func(Key) string
	number func(Key) (int64, bool)
	bytes  int // that a key has in the column, 0: as many as it has itself
	// plugin sets the keys of rows, nil: the table does.
	plugin func(idgen.Source[K]) gorm.Plugin
}

// layOut chooses the column of a key type.
func layOut[K KeyType](info Info, open func(context.Context, Environment) (idgen.Source[K], error)) Strategy {
	of := reflect.TypeFor[K]()
	if of.Implements(reflect.TypeFor[driver.Valuer]()) && reflect.PointerTo(of).Implements(reflect.TypeFor[sql.Scanner]()) {
		return sourced[K, K]{info, open, ownColumn[K]()}
	}
	switch of.Kind() {
	case reflect.Int64:
		to := func(key K) int64 { return reflect.ValueOf(key).Int() }
		return sourced[int64, sqltype.ID]{info, func(ctx context.Context, at Environment) (idgen.Source[int64], error) {
			source, err := open(ctx, at)
			if direct, ok := any(source).(idgen.Source[int64]); ok || err != nil {
				return direct, err
			}
			return ending[int64]{converted[K, int64]{filling[K]{source}, to}, source}, nil
		}, numberColumn()}
	case reflect.String:
		return sourced[K, text]{info, open, textColumn(func(key K) text { return text(reflect.ValueOf(key).String()) })}
	}
	if of.Len() == 12 {
		return sourced[K, ObjectID]{info, open, octetColumn(func(key K) ObjectID { return ObjectID(octets(key)) }, hexText)}
	}
	return sourced[K, UUID]{info, open, octetColumn(func(key K) UUID { return UUID(octets(key)) }, uuidText)}
}

// octets returns the bytes of an array of bytes.
func octets(array any) []byte {
	value := reflect.ValueOf(array)
	b := make([]byte, value.Len())
	reflect.Copy(reflect.ValueOf(b), value)
	return b
}

// ending is a source that is closed by closing another one.
type ending[K any] struct {
	idgen.Source[K]
	of any
}

func (e ending[K]) Close() error { return closed(e.of) }

// numberColumn has 64-bit integers, which the product's plugin fills in.
func numberColumn() column[int64, sqltype.ID] {
	return column[int64, sqltype.ID]{
		set:    func(id int64) sqltype.ID { return sqltype.ID(id) },
		key:    func(id sqltype.ID) (Key, error) { return numberKey(id.Int64()) },
		read:   func(key Key) (sqltype.ID, error) { n, err := keyNumber(key); return sqltype.ID(n), err },
		text:   numberText,
		number: isNumber,
		bytes:  8,
		plugin: numbersPlugin,
	}
}

// countedColumn has 64-bit integers, which the database counts.
func countedColumn() column[int64, int64] {
	return column[int64, int64]{
		set:    func(id int64) int64 { return id },
		key:    numberKey,
		read:   keyNumber,
		text:   numberText,
		number: isNumber,
		bytes:  8,
	}
}

// octetColumn has keys of a fixed number of bytes.
func octetColumn[K any, C ~[12]byte | ~[16]byte](set func(K) C, show func(Key) string) column[K, C] {
	return column[K, C]{
		set: set,
		key: func(id C) (Key, error) { return octetKey(id), nil },
		read: func(key Key) (id C, err error) {
			if len(key) != len(id) {
				return id, fmt.Errorf("%w: %d bytes, want %d", errKey, len(key), len(id))
			}
			return C([]byte(key)), nil
		},
		text:   show,
		number: noNumber,
	}
}

// textColumn has keys that are text.
func textColumn[K any](set func(K) text) column[K, text] {
	return column[K, text]{
		set:    set,
		key:    func(id text) (Key, error) { return Key(id), nil },
		read:   func(key Key) (text, error) { return text(key), nil },
		text:   func(key Key) string { return string(key) },
		number: noNumber,
	}
}

// ownColumn has keys whose type says itself how they are stored.
func ownColumn[K KeyType]() column[K, K] {
	of := reflect.TypeFor[K]()
	c := column[K, K]{set: func(key K) K { return key }, number: noNumber, text: hexText}
	switch of.Kind() {
	case reflect.Int64:
		c.key = func(id K) (Key, error) { return numberKey(reflect.ValueOf(id).Int()) }
		c.read = func(key Key) (id K, err error) {
			n, err := keyNumber(key)
			reflect.ValueOf(&id).Elem().SetInt(n)
			return id, err
		}
		c.text, c.number, c.bytes = numberText, isNumber, 8
	case reflect.String:
		c.key = func(id K) (Key, error) { return Key(reflect.ValueOf(id).String()), nil }
		c.read = func(key Key) (id K, err error) { reflect.ValueOf(&id).Elem().SetString(string(key)); return id, nil }
		c.text = func(key Key) string { return string(key) }
	default:
		c.key = func(id K) (Key, error) { return Key(octets(id)), nil }
		c.read = func(key Key) (id K, err error) {
			if len(key) != of.Len() {
				return id, fmt.Errorf("%w: %d bytes, want %d", errKey, len(key), of.Len())
			}
			reflect.Copy(reflect.ValueOf(&id).Elem(), reflect.ValueOf([]byte(key)))
			return id, nil
		}
		if of.Len() == 16 {
			c.text = uuidText
		}
	}
	return c
}

// octetKey returns the key that bytes are.
func octetKey[C ~[12]byte | ~[16]byte](id C) Key {
	b := make([]byte, 0, 16)
	for i := range len(id) {
		b = append(b, id[i])
	}
	return Key(b)
}

// numberKey returns the eight bytes of a number. Those of negative ones would not be in the order of the numbers.
func numberKey(n int64) (Key, error) {
	if n < 0 {
		return "", fmt.Errorf("%w: the negative number %d", errKey, n)
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	return Key(b[:]), nil
}

func keyNumber(key Key) (int64, error) {
	n, ok := isNumber(key)
	if !ok {
		return 0, fmt.Errorf("%w: %d bytes, want 8", errKey, len(key))
	}
	return n, nil
}

func isNumber(key Key) (int64, bool) {
	if len(key) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64([]byte(key))), true
}

func noNumber(Key) (int64, bool) { return 0, false }

func numberText(key Key) string {
	n, ok := isNumber(key)
	if !ok {
		return hexText(key)
	}
	return strconv.FormatInt(n, 10)
}

func hexText(key Key) string { return hex.EncodeToString([]byte(key)) }

// text is a key of text that is compared byte by byte, whatever the database's collation: with another one, texts that differ may be equal, or
// in another order than their bytes.
type text string

// GormDBDataType gives the column's type.
func (text) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	return columnType(db, `varchar(255) COLLATE "C"`, "varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "text")
}

// columnType returns the type that a key's column has on a database.
func columnType(db *gorm.DB, postgres, mysql, sqlite string) string {
	switch db.Name() {
	case "postgres":
		return postgres
	case "mysql":
		return mysql
	}
	return sqlite
}
