package strategy

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
)

// New returns a strategy whose keys come from sources, one for each process that is opened. Where the source also has a method Close() error
// or Close(), that is called by [Keys.Close]. A source whose Fill returns [errors.ErrUnsupported] makes single keys only, and a table asks it
// for one after the other.
//
// How the keys stand in a column is decided by their type:
//
//	int64, not negative           an sqltype.ID, filled in by the plugin of package gormplugin
//	[16]byte, [12]byte            binary: uuid or bytea on PostgreSQL, binary(16) or binary(12) on MySQL and MariaDB, a blob on SQLite
//	string                        up to 255 characters that are compared byte by byte
//	one with Value and Scan       what these make of it, in a column of its GormDBDataType, or of what GORM takes its Value for
//
// A named type without these two methods counts as what it is made of; the plugin fills in no named int64. A type with them has to be ordered by the database as its bytes are.
//
// New does not check the description, [Register] does. A source that is nil, or that panics in a call, makes the call fail with an error.
func New[K KeyType](info Info, open func(ctx context.Context, at Environment) (idgen.Source[K], error)) Strategy {
	return layOut(info, func(ctx context.Context, at Environment) (idgen.Source[K], error) {
		if open == nil {
			return nil, errNoSource
		}
		source, err := open(ctx, at)
		if err == nil && isNil(source) {
			err = errNoSource
		}
		if err != nil {
			return nil, err
		}
		return source, nil
	})
}

// isNil reports whether a source is nil, or the nil of a type whose methods could do nothing but panic.
func isNil(source any) bool {
	v := reflect.ValueOf(source)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// KeyType is what keys can be made of.
type KeyType interface {
	~int64 | ~string | ~[16]byte | ~[12]byte
}

// sourced is a strategy whose sources make a K, which stands in a column as a C.
type sourced[K, C any] struct {
	info   Info
	open   func(context.Context, Environment) (idgen.Source[K], error)
	column column[K, C]
}

func (s sourced[K, C]) Info() Info { return s.info }

func (s sourced[K, C]) Open(ctx context.Context, at Environment) (keys Keys, err error) {
	defer func() {
		if err != nil && !errors.Is(err, ErrUnavailable) { // which tells what it is about
			err = fmt.Errorf("%s: %w", s.info.Name, err)
		}
	}()
	defer caught(&err)
	if err := at.check(); err != nil {
		return nil, err
	}
	source, err := s.open(ctx, at)
	if err != nil {
		return nil, err
	}
	return newKeys(source, s.column), nil
}

// errNoSource says that there is no open function, or that it returned neither a source nor an error.
var errNoSource = errors.New("compare: opening it gave no source")

// single makes single keys by a function, as the libraries do that know no more than one at a time.
type single[K any] func(context.Context) (K, error)

func (s single[K]) Next(ctx context.Context) (K, error) { return s(ctx) }

func (s single[K]) Fill(context.Context, []K) error { return errors.ErrUnsupported }

// filling is a source that fills in any case, by single calls where there is no other way. A panic ends here: it would leave the transaction of
// the plugin's statement open.
type filling[K any] struct{ idgen.Source[K] }

func (f filling[K]) Next(ctx context.Context) (_ K, err error) {
	defer caught(&err)
	return f.Source.Next(ctx)
}

func (f filling[K]) Fill(ctx context.Context, keys []K) (err error) {
	defer caught(&err)
	if err = f.Source.Fill(ctx, keys); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	for i := range keys {
		if keys[i], err = f.Source.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// closed ends a source that can be ended.
func closed(source any) error {
	switch s := source.(type) {
	case interface{ Close() error }:
		return s.Close()
	case interface{ Close() }:
		s.Close()
	}
	return nil
}

// numbersPlugin is the plugin of the product over a source of numbers. One with streams is handed on as it is, so that each INSERT has a stream of its own.
func numbersPlugin(source idgen.Source[int64]) gorm.Plugin {
	if s, ok := source.(interface{ Streams() int }); !ok || s.Streams() == 0 {
		source = filling[int64]{source}
	}
	return gormplugin.New(gormplugin.From(source))
}
