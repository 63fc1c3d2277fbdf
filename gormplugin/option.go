package gormplugin

import (
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Option is a setting of [New]. db.Use returns the error of a wrong one.
type Option func(*Plugin) error

// Generator sets how the plugin makes its keys: the layout, and what it does about a clock that steps back, a full tick, and the start of a sequence. For a
// table of MySQL or MariaDB that many connections fill that is Generator(idgen.Packed). It is the Generator of [Grants], which then has none.
func Generator(options ...idgen.Option) Option {
	return func(p *Plugin) error {
		p.generator = options
		return nil
	}
}

// Grants sets how the plugin acquires its node number: the layout, the key space and the length of a grant; with [grant.Table] also the table of
// the grants.
func Grants(config grant.Config, options ...grant.SQLOption) Option {
	return func(p *Plugin) error {
		p.config, p.grants, p.grantsIn = config, options, nil
		return nil
	}
}

// GrantsIn is [Grants] in a store that is not the application's database, redisgrant.New(client) for one. Any databases may share the plugin then. Of Grants and
// GrantsIn the last one counts. A nil store is a [grant.ErrConfig].
func GrantsIn(store grant.Store, config grant.Config) Option {
	return func(p *Plugin) error {
		if store == nil {
			return fmt.Errorf("%w: GrantsIn: the store is nil", grant.ErrConfig)
		}
		p.config, p.grants, p.grantsIn = config, nil, store
		return nil
	}
}

// From sets the source of all keys without a named source. The keys of one table must come from sources that never make the same key:
// snowflake generators of one layout with different node numbers. A nil source is an [ErrNoSource].
func From[K Key](of idgen.Source[K]) Option {
	return func(p *Plugin) (err error) {
		if p.source, err = newSource(of); err != nil {
			return fmt.Errorf("From: %w", err)
		}
		return nil
	}
}

// Named adds a source for fields with the tag `gorm:"snowkey:name"` and for tables of [Table]. The plugin keeps its default source. The error wraps
// [ErrNoSource] for a nil source, and for a name that is empty, "-", given twice, or has a character that a tag cannot hold.
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

// AllKeys fills the primary key of every model with a single key column of a 64-bit integer type, [gorm.Model] included. It leaves:
//
//   - a key with the tag autoIncrement:false, unless the field has the tag `gorm:"snowkey"` too;
//   - an integer of fewer bits, which the database goes on to make. GORM's logger gets a warning once a model. An int64 ends the warning;
//   - a key with the tag `gorm:"snowkey:-"`.
//
// In JSON these keys are numbers above 2^53, which JavaScript rounds: `{"ID":153652455014400001}` is read as 153652455014400000, another row or none.
// The plugin's logger gets a warning once a model, at its first key. The way out is a key of [sqltype.ID] or the same four fields by [Model], the
// tag `json:",string"` at the field, or the layout [idgen.JS53].
func AllKeys() Option {
	return func(p *Plugin) error {
		p.allKeys = true
		return nil
	}
}

// BeforeHooks fills the keys before the model's BeforeSave and BeforeCreate hooks, and again the keys that a hook has cleared. Without the option hooks
// find the key zero, as in GORM with auto-increment. Keys that hooks set stay.
func BeforeHooks() Option {
	return func(p *Plugin) error {
		p.beforeHooks = true
		return nil
	}
}

// Logger sets where the plugin warns of [AllKeys] in JSON and of columns that still count, see [WithoutModelWarnings], of the layout packed on PostgreSQL, and
// where the keeper of its node number logs, unless [Grants] gives that a logger of its own. Default: slog.Default(). A logger with slog.DiscardHandler says nothing.
func Logger(to *slog.Logger) Option {
	return func(p *Plugin) error {
		p.logger = to
		return nil
	}
}

// WithoutModelWarnings turns two warnings off: the one, once a model, that JavaScript rounds its keys, and the one, once a table, that the
// database still counts a key which the plugin makes. On PostgreSQL it saves the queries of the catalog at the first create of each table.
func WithoutModelWarnings() Option {
	return func(p *Plugin) error {
		p.unwarned = true
		return nil
	}
}

// Table fills a column of rows created without a model, from maps: db.Table("events").Create(map…). The table is named as in db.Table, with a schema if it
// has one. The optional setting is that of a tag: a source, a text form, or both, such as "orders", ",base32", "orders,base32". The key in the map is a
// [sqltype.ID], or a string with a text form or from a source of bytes; so a column of BINARY(16) is not for it.
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

// Prepare turns auto-increment off in GORM's schemas of models, so that AutoMigrate makes plain columns. Keys of GORM's own integer types need it, those of
// gorm.Model among them. Keys of package sqltype do not, and keys with the tag `gorm:"snowkey:-"` stay as they are. A key that the database makes
// and the plugin does not fill is an [ErrKey], also a narrow one. Prepare takes effect in db.Use, which must come before AutoMigrate and before
// other uses of the database: the plugin writes to no other state of GORM's.
func Prepare(models ...any) Option {
	return func(p *Plugin) error {
		p.models = append(p.models, models...)
		return nil
	}
}
