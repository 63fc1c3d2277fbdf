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
	switch {
	case of.Implements(reflect.TypeFor[driver.Valuer]()) && reflect.PointerTo(of).Implements(reflect.TypeFor[sql.Scanner]()):
		return sourced[K, K]{info, open, columnOf(func(key K) K { return key })}
	case of.Kind() == reflect.Int64:
		if numbers, ok := any(open).(func(context.Context, Environment) (idgen.Source[int64], error)); ok {
			return sourced[int64, sqltype.ID]{info, numbers, numberColumn()}
		}
		return sourced[K, sqltype.ID]{info, open, columnOf(func(key K) sqltype.ID { return sqltype.ID(reflect.ValueOf(key).Int()) })}
	case of.Kind() == reflect.String:
		return sourced[K, text]{info, open, columnOf(func(key K) text { return text(reflect.ValueOf(key).String()) })}
	case of.Len() == 12:
		return sourced[K, ObjectID]{info, open, columnOf(func(key K) ObjectID { return ObjectID(octets(&key)) })}
	}
	return sourced[K, UUID]{info, open, columnOf(func(key K) UUID { return UUID(octets(&key)) })}
}

// octets returns the bytes of an array of bytes, which are its own.
func octets(array any) []byte { return reflect.ValueOf(array).Elem().Bytes() }

// numberColumn has 64-bit integers, which the product's plugin fills in.
func numberColumn() column[int64, sqltype.ID] {
	c := columnOf(func(id int64) sqltype.ID { return sqltype.ID(id) })
	c.plugin = numbersPlugin
	return c
}

// columnOf has keys that are 64-bit integers, texts, or arrays of bytes.
func columnOf[K, C any](set func(K) C) column[K, C] {
	of := reflect.TypeFor[C]()
	c := column[K, C]{set: set, number: noNumber, text: hexText}
	switch of.Kind() {
	case reflect.Int64:
		c.key = func(id C) (Key, error) { return numberKey(reflect.ValueOf(id).Int()) }
		c.read = func(key Key) (id C, err error) {
			n, err := keyNumber(key)
			reflect.ValueOf(&id).Elem().SetInt(n)
			return id, err
		}
		c.text, c.number, c.bytes = numberText, isNumber, 8
	case reflect.String:
		c.key = func(id C) (Key, error) { return Key(reflect.ValueOf(id).String()), nil }
		c.read = func(key Key) (id C, err error) { reflect.ValueOf(&id).Elem().SetString(string(key)); return id, nil }
		c.text = func(key Key) string { return string(key) }
	default:
		c.key = func(id C) (Key, error) { return Key(octets(&id)), nil }
		c.read = func(key Key) (id C, err error) {
			if len(key) != of.Len() {
				return id, fmt.Errorf("%w: %d bytes, want %d", errKey, len(key), of.Len())
			}
			copy(octets(&id), key)
			return id, nil
		}
		if of.Len() == 16 {
			c.text = uuidText
		}
	}
	return c
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
