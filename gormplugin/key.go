package gormplugin

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// tag is the name of the plugin's setting in a field's gorm tag.
const tag = "SNOWKEY"

var (
	idType   = reflect.TypeFor[sqltype.ID]()
	ulidType = reflect.TypeFor[sqltype.ULID]()
)

// isUUID reports whether a type is sqltype.UUID, or a UUIDKey or PublicUUID of some model.
func isUUID(of reflect.Type) bool {
	return of.PkgPath() == idType.PkgPath() && of.Kind() == reflect.Array && of != ulidType
}

// key is a column that is filled, and how.
type key struct {
	field    *schema.Field // nil of a table without a model
	column   string
	source   *source
	form     textForm     // of an integer in a string
	of       reflect.Type // of the field, without its pointer
	pointer  bool
	embedded bool          // the field is in a struct embedded by pointer, which may be nil
	by       *schema.Field // the sharding column; nil when the key does not depend on one
}

// textForm is an [idgen.Encoding] or an [idgen.TextForm].
type textForm interface {
	Name() string
	CaseSensitive() bool
	Encode(id int64) (string, error)
	Parse(text string) (int64, error)
}

// newKey returns how a column of a type is filled, by what its tag says: the name of a source, and after a comma that of a text form.
func (p *Plugin) newKey(column string, of reflect.Type, setting string) (*key, error) {
	name, form, hasForm := strings.Cut(setting, ",")
	if strings.EqualFold(name, tag) { // GORM's value of a tag without one
		name = ""
	}
	k := &key{column: column, source: p.source, of: of, form: idgen.Decimal}
	if name != "" {
		if k.source = p.named[name]; k.source == nil {
			if _, err := idgen.ParseTextForm(name, idgen.Snowkey.Layout); err == nil {
				return nil, fmt.Errorf("%w: none is named %q; for the text form of that name write snowkey:,%s", ErrNoSource, name, name)
			}
			return nil, fmt.Errorf("%w: none is named %q, Named has given %d: %q", ErrNoSource, name, len(p.named), slices.Sorted(p.names()))
		}
	}
	if of.Kind() == reflect.Pointer {
		k.pointer, k.of = true, of.Elem()
	}
	if name == "" && p.source.width != 16 {
		switch {
		case isUUID(k.of):
			k.source = p.uuids
		case k.of == ulidType:
			k.source = p.ulids
		}
	}
	if hasForm {
		var err error
		layout, _ := k.source.layout()
		if k.form, err = idgen.ParseTextForm(form, layout); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKey, err)
		}
		if k.of.Kind() != reflect.String || k.source.width != 0 {
			return nil, fmt.Errorf("%w: the text form %s is for integer keys in a string, and its type is %s", ErrKey, form, of)
		}
	}
	if !canHold(k.of, k.source.width) {
		want := "an int64, uint64, string, or a type of these, or a pointer to one"
		switch {
		case k.source.width == isText:
			want = "a string, a type of it, or a pointer to one, since the source makes texts"
		case k.source.width > 0:
			want = fmt.Sprintf("[%d]byte, []byte or string", k.source.width)
		}
		return nil, fmt.Errorf("%w: its type is %s, want %s", ErrKey, of, want)
	}
	return k, nil
}

// canHold reports whether a type can hold keys of a source's width.
func canHold(of reflect.Type, width int) bool {
	switch kind := of.Kind(); kind {
	case reflect.String:
		return true
	case reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint:
		return width == 0 && !isNarrow(of)
	case reflect.Slice:
		return width > 0 && of.Elem().Kind() == reflect.Uint8
	case reflect.Array:
		return width > 0 && of.Elem().Kind() == reflect.Uint8 && of.Len() == width
	}
	return false
}

// write sets a value of the key's type to the key i of a batch.
func (k *key) write(to reflect.Value, keys *batch, i int) error {
	if width := k.source.width; width > 0 {
		octets := keys.octets[i*width : (i+1)*width]
		switch to.Kind() {
		case reflect.String:
			to.SetString(octetsText(octets))
		case reflect.Slice:
			to.SetBytes(slices.Clone(octets))
		default:
			reflect.Copy(to, reflect.ValueOf(octets))
		}
		return nil
	}
	switch {
	case k.source.width == isText:
		to.SetString(keys.texts[i])
	case to.CanInt():
		to.SetInt(keys.integers[i])
	case to.CanUint():
		to.SetUint(uint64(keys.integers[i]))
	default:
		text, err := k.form.Encode(keys.integers[i])
		to.SetString(text)
		return err
	}
	return nil
}

// octetsText is the text of a key of bytes: that of RFC 9562 for 16 of them, hexadecimal digits alone for others.
func octetsText(b []byte) string {
	digits := hex.EncodeToString(b)
	if len(b) != 16 {
		return digits
	}
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}

// isNarrow reports whether a type is of integers of fewer than 64 bits.
func isNarrow(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return true
	case reflect.Int, reflect.Uint:
		return strconv.IntSize < 64
	}
	return false
}

// isMissing reports whether a row has no key: zero, nil, or a pointer to zero.
func (k *key) isMissing(ctx context.Context, r *row) bool {
	if columns := r.columns(); columns != nil {
		return !k.inMap(columns)
	}
	if k.embedded {
		if _, zero := k.field.ValueOf(ctx, r.value); zero {
			return true // perhaps of a nil struct, which ReflectValueOf would make
		}
	}
	value := k.field.ReflectValueOf(ctx, r.value)
	if k.pointer {
		if value.IsNil() {
			return true
		}
		value = value.Elem()
	}
	if value.Kind() == reflect.Slice {
		return value.Len() == 0
	}
	return value.IsZero()
}

func isZero(v any) bool {
	v = indirect(v)
	return v == nil || reflect.ValueOf(v).IsZero()
}

// set gives a row the key i of a batch.
func (k *key) set(ctx context.Context, r *row, keys *batch, i int) error {
	if columns := r.columns(); columns != nil {
		value := reflect.New(k.of).Elem()
		err := k.write(value, keys, i)
		k.setInMap(columns, value.Interface())
		return err
	}
	return k.write(k.settable(ctx, r), keys, i)
}

// settable returns the key of a row of structs, where it can be written to.
func (k *key) settable(ctx context.Context, r *row) reflect.Value {
	value := k.field.ReflectValueOf(ctx, r.value)
	if !k.pointer {
		return value
	}
	value.Set(reflect.New(k.of)) // of its own: what it points to may be another row's too
	return value.Elem()
}

// restorer returns what puts back what a row has in the place of a key, nil when that is zero, as clear leaves it.
func (k *key) restorer(ctx context.Context, r *row) func() {
	if columns := r.columns(); columns != nil {
		before := map[string]any{}
		for name, value := range columns {
			if k.isColumn(name) {
				before[name] = value
			}
		}
		return func() {
			k.removeFromMap(columns)
			maps.Copy(columns, before)
		}
	}
	if base := k.nilBase(r); base.IsValid() {
		return func() {
			k.clear(ctx, r)
			if base.Elem().IsZero() {
				base.SetZero()
			}
		}
	}
	if !k.pointer {
		return nil
	}
	value := k.field.ReflectValueOf(ctx, r.value)
	if value.IsNil() {
		return nil
	}
	before := reflect.ValueOf(value.Interface())
	return func() { value.Set(before) }
}

// nilBase returns the embedded pointer that is nil and has to be made for a row to have a key, the zero Value when there is none.
func (k *key) nilBase(r *row) reflect.Value {
	value := r.value
	for _, i := range k.field.StructField.Index {
		if !k.embedded {
			break
		}
		if i >= 0 {
			value = value.Field(i)
			continue
		}
		value = value.Field(-i - 1) // GORM's mark for a pointer
		if value.IsNil() {
			return value
		}
		value = value.Elem()
	}
	return reflect.Value{}
}

// assign gives a row a key that the database has: of the key's own type, or an integer.
func (k *key) assign(ctx context.Context, r *row, value reflect.Value) {
	value = value.Convert(k.of)
	if columns := r.columns(); columns != nil {
		k.setInMap(columns, value.Interface())
		return
	}
	k.settable(ctx, r).Set(value)
}

// clear takes the key from a row.
func (k *key) clear(ctx context.Context, r *row) {
	if columns := r.columns(); columns != nil {
		k.setInMap(columns, reflect.Zero(k.of).Interface())
		return
	}
	k.field.ReflectValueOf(ctx, r.value).SetZero()
}

// held returns the key of a row without its pointer, the zero Value when it has none.
func (k *key) held(ctx context.Context, r *row) (value reflect.Value) {
	if columns := r.columns(); columns == nil {
		value = k.field.ReflectValueOf(ctx, r.value)
	} else {
		for name, v := range columns {
			if k.isColumn(name) {
				value = reflect.ValueOf(v)
			}
		}
	}
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	return value
}

// current returns a copy of the key of a row, without its pointer; the zero Value when it has none or one of another type.
func (k *key) current(ctx context.Context, r *row) reflect.Value {
	value := k.held(ctx, r)
	if !value.IsValid() || !value.CanConvert(k.of) {
		return reflect.Value{}
	}
	return value.Convert(k.of)
}

// isInteger reports whether the column is one of integers.
func (k *key) isInteger() bool { return k.source.width == 0 && k.of.Kind() != reflect.String }
