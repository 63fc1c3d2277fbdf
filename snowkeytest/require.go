package snowkeytest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/sqltype"
)

// RequireKey fails the test at once unless each model has its primary key, all columns of it. A model is a struct, a slice of structs, or a pointer to one.
func RequireKey(t testing.TB, models ...any) {
	t.Helper()
	for _, model := range models {
		if err := checkKey(reflect.ValueOf(model), fmt.Sprintf("%T", model)); err != nil {
			t.Fatalf("snowkeytest: %v", err)
		}
	}
}

// schemas are those of models, which GORM keeps by type.
var schemas sync.Map

func checkKey(value reflect.Value, name string) error {
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			if err := checkKey(value.Index(i), fmt.Sprintf("%s[%d]", name, i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
	default:
		return fmt.Errorf("%s: want a model, a slice of models, or a pointer to one, and not nil", name)
	}
	s, err := schema.Parse(reflect.New(value.Type()).Interface(), &schemas, schema.NamingStrategy{})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(s.PrimaryFields) == 0 {
		return fmt.Errorf("%s has no primary key; name a field ID, or give it the tag `gorm:\"primaryKey\"`", name)
	}
	for _, field := range s.PrimaryFields {
		if key, zero := field.ValueOf(context.Background(), value); zero || reflect.Indirect(reflect.ValueOf(key)).IsZero() {
			return fmt.Errorf("%s has no key: %s is %v. Create fills it in when the plugin is registered with db.Use and Create is given a pointer%s", name, field.Name, key, hint(field))
		}
	}
	return nil
}

// hint says what a field needs that is not filled by its type.
func hint(field *schema.Field) string {
	if field.IndirectFieldType.PkgPath() == reflect.TypeFor[sqltype.ID]().PkgPath() {
		return ""
	}
	return fmt.Sprintf("; a field of the type %s needs gormplugin.AllKeys() or the tag `gorm:\"snowkey\"` as well", field.FieldType)
}
