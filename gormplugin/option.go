package gormplugin

import (
	"fmt"
	"iter"
	"maps"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Option is something that [New] can be told. What is wrong with it, db.Use says.
type Option func(*Plugin) error

// Grants says what the keys and their grants are like when the plugin acquires a node number itself: the layout, the key space, for how
// long; and with [grant.Table] the table they are kept in.
func Grants(config grant.Config, options ...grant.SQLOption) Option {
	return func(p *Plugin) error {
		p.config, p.grants = config, options
		return nil
	}
}

// From gives the source of the keys that are not of a named one. Keys of one table must all come from sources that never make the
// same: for snowflake generators, of one layout and with different node numbers. [ErrNoSource] is the error for one that is nil.
func From[K Key](of idgen.Source[K]) Option {
	return func(p *Plugin) (err error) {
		if p.source, err = newSource(of); err != nil {
			return fmt.Errorf("From: %w", err)
		}
		return nil
	}
}

// Named gives a source with a name, for fields with the tag `gorm:"snowkey:name"` and tables of [Table]. Beside it the plugin has its
// default source. The error wraps [ErrNoSource] for one that is nil, and for a name that is empty, "-", given twice, or has a character
// that a tag cannot hold.
func Named[K Key](name string, of idgen.Source[K]) Option {
	return func(p *Plugin) error {
		if name == "" || name == "-" || strings.EqualFold(name, tag) || strings.ContainsAny(name, ",;:\"\\` ") {
			return fmt.Errorf("%w: Named: %q cannot be a name in a tag", ErrNoSource, name)
		}
		if p.named[name] != nil {
			return fmt.Errorf("%w: Named: there is one of the name %q already", ErrNoSource, name)
		}
		s, err := newSource(of)
		if err != nil {
			return fmt.Errorf("Named %q: %w", name, err)
		}
		p.named[name] = s
		return nil
	}
}

func (p *Plugin) names() iter.Seq[string] { return maps.Keys(p.named) }

// AllKeys fills the primary key of every model that has one of a single column and of an integer type of 64 bits, that of [gorm.Model]
// included. It leaves a key that is tagged autoIncrement:false, since somebody sets it, unless it has the tag `gorm:"snowkey"` too. It also leaves an
// integer of fewer bits, which the database goes on to make, and says so once a model, as a warning of GORM's logger; to make it an int64 ends the
// warning, or the tag `gorm:"snowkey:-"`, which leaves any key.
func AllKeys() Option {
	return func(p *Plugin) error {
		p.allKeys = true
		return nil
	}
}

// BeforeHooks fills the keys before the model's BeforeSave and BeforeCreate hooks, which can read them then; one that a hook has lost is filled
// again. Without it hooks find the key zero, as in GORM with auto-increment, and what they set is kept.
func BeforeHooks() Option {
	return func(p *Plugin) error {
		p.beforeHooks = true
		return nil
	}
}

// Table fills a column of a table when rows are created without a model, from maps: db.Table("events").Create(map…). The table's name is
// that of db.Table, with the schema's if that has one. What a tag would say of the source and the text form can be given after the
// column: "orders", ",base32", "orders,base32". The key in the map is an [sqltype.ID], or text with a text form or from a source of bytes.
func Table(table, column string, setting ...string) Option {
	return func(p *Plugin) error {
		if table == "" || column == "" {
			return fmt.Errorf("%w: Table: want the names of a table and a column, got %q and %q", ErrKey, table, column)
		}
		if len(setting) > 1 {
			return fmt.Errorf("%w: Table %q: want one setting, got %q", ErrKey, table, setting)
		}
		p.tables = append(p.tables, tableKey{table, column, strings.Join(setting, "")})
		return nil
	}
}

// Prepare turns auto-increment off in GORM's schemas of models, so that AutoMigrate makes plain columns for them. It is for keys of
// GORM's own integer types, those of gorm.Model among them; keys of package sqltype need none, and keys with the tag `gorm:"snowkey:-"` stay as they
// are. Another key that the database makes and the plugin does not fill is an [ErrKey], also a narrow one that [AllKeys] leaves. It happens in db.Use, which must come
// before AutoMigrate and before the database is used: these schemas are the only thing of GORM's that the plugin writes to.
func Prepare(models ...any) Option {
	return func(p *Plugin) error {
		p.models = append(p.models, models...)
		return nil
	}
}
