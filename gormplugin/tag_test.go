package gormplugin_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

type (
	misspelt struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false;snokey:orders"`
		Text string
	}
	misspeltBare struct {
		ID  sqltype.ID
		Ref string `gorm:"size:20;Snowky"`
	}
	misspeltUnderline struct {
		ID int64 `gorm:"snow_key"`
	}
	misspeltSwapped struct {
		ID int64 `gorm:"snwokey:-"`
	}
	misspeltOutside struct {
		ID int64 `json:"id" snowkey:"orders"`
	}
	misspeltOutsideEmpty struct {
		ID int64 `snowkey:""`
	}
	misspeltComma struct {
		ID int64 `gorm:"primaryKey,snowkey"`
	}
	misspeltEquals struct {
		ID int64 `gorm:"snowkey=orders"`
	}
	misspeltForm struct {
		ID string `gorm:"snowkey,base32"`
	}
	misspeltIgnored struct {
		ID   sqltype.ID
		Lost string `gorm:"-;snowkeys"`
	}
	misspeltEmbedded struct {
		Base struct{ ID int64 } `gorm:"embedded;snokey"`
	}
)

// A tag that was meant for the plugin and is none is an error when the model is first used, with the one that was meant.
func TestMisspeltTag(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.AllKeys())); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			value any
			says  []string
		}{
			{&misspelt{}, []string{"field ID", `"snokey"`, "`gorm:\"snowkey:orders\"`"}},
			{&[]misspeltBare{{ID: 1}}, []string{"field Ref", `"Snowky"`, "`gorm:\"snowkey\"`"}},
			{&misspeltUnderline{}, []string{"field ID", `"snow_key"`, "`gorm:\"snowkey\"`"}},
			{&misspeltSwapped{}, []string{"field ID", `"snwokey"`, "`gorm:\"snowkey:-\"`"}},
			{&misspeltOutside{}, []string{"field ID", "`snowkey:\"orders\"`", "`gorm:\"snowkey:orders\"`"}},
			{&misspeltOutsideEmpty{}, []string{"field ID", "`snowkey:\"\"`", "`gorm:\"snowkey\"`"}},
			{&misspeltComma{}, []string{"field ID", `"primaryKey,snowkey"`, "`gorm:\"snowkey\"`", "semicolons"}},
			{&misspeltEquals{}, []string{"field ID", `"snowkey=orders"`, "a colon"}},
			{&misspeltForm{}, []string{"field ID", `"snowkey,base32"`, "a colon"}},
			{&misspeltIgnored{}, []string{"field Lost", `"snowkeys"`}},
			{&misspeltEmbedded{}, []string{"field ID", `"SNOKEY"`}},
		} {
			for range 2 { // it does not go away
				err := db.Create(tt.value).Error
				if !errors.Is(err, gormplugin.ErrKey) {
					t.Errorf("%T: got %v, want ErrKey", tt.value, err)
					continue
				}
				for _, want := range tt.says {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%T: got %v, want it to say %s", tt.value, err, want)
					}
				}
			}
			if err := another(t, db).Use(gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.Prepare(tt.value))); !errors.Is(err, gormplugin.ErrKey) {
				t.Errorf("Prepare of %T: got %v, want ErrKey", tt.value, err)
			}
		}
	})
}

// The settings of GORM, of its dialects, of its own plugins and of others in use are nobody's misspelling.
func TestTagsOfOthers(t *testing.T) {
	settings := []string{
		"-", "->", "<-", "autoCreateTime", "autoIncrement", "autoIncrementIncrement", "autoUpdateTime", "belongsTo", "check", "class", "collate", "column", "comment",
		"composite", "constraint", "default", "deletedAtField", "embedded", "embeddedPrefix", "expression", "foreignKey", "generated", "index", "joinForeignKey",
		"joinReferences", "json", "length", "many2many", "not null", "notNull", "option", "polymorphic", "polymorphicId", "polymorphicType", "polymorphicValue",
		"precision", "primary_key", "primaryKey", "priority", "references", "scale", "serializer", "size", "softDelete", "sort", "type", "unique", "uniqueIndex",
		"where", "zeroValue",
		"SNOWKEY", "snowkey", "snowflake", "snowid", "snow", "rowkey", "sortkey", "shardkey", "shardingKey", "sharding_key", "hotkey", "key", "secret", "slug", "search",
		"encrypt", "encrypted", "audit", "tenant", "version", "shared", "scope", "sequence", "select", "set", "skip", "source", "sensitive", "state", "store", "strict",
	}
	for _, setting := range settings {
		s := &schema.Schema{Fields: []*schema.Field{{Name: "Ref", Tag: reflect.StructTag(`gorm:"` + setting + `"`), TagSettings: schema.ParseTagSetting(setting, ";")}}}
		if err := gormplugin.CheckTags(s); err != nil {
			t.Errorf("%s: got %v", setting, err)
		}
	}
}

// TestTextFormNamedAsASource forgets the comma before a text form.
func TestTextFormNamedAsASource(t *testing.T) {
	type Labelled struct {
		ID string `gorm:"size:20;primaryKey;snowkey:base32"`
	}
	db := openOn(t, dsn.SQLite)
	use(t, db, &Labelled{})
	err := db.Create(&Labelled{}).Error
	if !errors.Is(err, gormplugin.ErrNoSource) || !strings.Contains(err.Error(), "snowkey:,base32") {
		t.Errorf("got %v, want ErrNoSource with the right tag", err)
	}
}
