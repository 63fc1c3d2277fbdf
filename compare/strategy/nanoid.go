package strategy

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/uid"
)

// nanoID is the strategy of random texts.
func nanoID() Strategy {
	column := columnOf(func(key string) NanoID { return NanoID(key) })
	column.plugin = func(source idgen.Source[string]) gorm.Plugin {
		return gormplugin.New(gormplugin.From[string](filling[string]{source}))
	}
	return sourced[string, NanoID]{Info{
		Name:         "nanoid",
		About:        "Texts of 21 characters of 64, which need no escape in a URL, made by package uid and filled in by the plugin: 126 random bits. Stored in a char(21).",
		Origin:       "github.com/ai/nanoid",
		Needs:        "a source of good random numbers, and a column that tells small letters from capital ones",
		Cost:         "21 bytes where a number has 8, " + everyIndex + "; in no order, so that each row goes to another page of the index",
		Coordination: "none",
		Decodes:      "nothing",
		Guess:        "nothing",
		Order:        Unordered,
		Random:       126,
	}, func(context.Context, Environment) (idgen.Source[string], error) {
		return uid.NanoID(uid.NanoIDAlphabet, 21)
	}, column}
}

// NanoID is a text of 21 characters of ASCII as a key column, compared byte by byte.
type NanoID string

// GormDBDataType gives the column's type.
func (NanoID) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	return columnType(db, `char(21) COLLATE "C"`, "char(21) CHARACTER SET ascii COLLATE ascii_bin", "text")
}
