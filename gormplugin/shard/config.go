package shard

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// Shard is where buckets are: in the tables with a suffix, of a database.
type Shard = idshard.Shard

// Tables returns n shards of the router's own database, with the suffixes "_00", "_01" and so on, as idshard.Tables does.
func Tables(n int) []Shard { return idshard.Tables(n) }

// Config says how a [Router] is to be. The zero Config reads the map "default", which must be there.
type Config struct {
	// Name is the map's in the database, "default" when empty.
	Name string
	// Shards is what the map is made of when there is none yet; later the map in force counts. Empty: the map must be there, made with "snowkey shard
	// init" or an idshard.Store, as one for tables with rows from before has to be.
	Shards []Shard
	// Layout is that of the ids, idgen.Sharded when zero. It must be the map's.
	Layout idgen.Layout
	// Databases are the others that the map names, each opened with the same kind of dialector and no plugin of this module; their settings for
	// logging and transactions are not used.
	Databases map[string]*gorm.DB
	// Models are sharded ones without a tag.
	Models []Model
	// Lease is how long a map is used without a look whether it is the one in force: 1 s up to the map's own lease, which moves of rows wait for, and that
	// when 0. A map that the router makes has this lease, or 10 s; see idshard.Map.WithLease.
	Lease time.Duration
	// Grants says how the node number is granted, see gormplugin.Grants; its Generator's layout and shard are set by the router.
	Grants       grant.Config
	GrantOptions []grant.SQLOption
	// Plugin are more options of the plugin that fills in the keys, but for From and Grants.
	Plugin []gormplugin.Option
}

// Model names the sharding column of a model that has no tag.
type Model struct {
	Of     any    // a pointer to a struct
	Column string // name of the field or the column
}

// The limits of a lease that is given.
const (
	leastLease = time.Second
	greatLease = time.Hour
)

// complete returns the config with its defaults, for a router of the database. The error wraps [ErrConfig] or [ErrDatabase].
func (c Config) complete(db *gorm.DB) (Config, error) {
	if c.Name == "" {
		c.Name = "default"
	}
	if c.Lease != 0 && (c.Lease < leastLease || c.Lease > greatLease) {
		return c, fmt.Errorf("%w: Lease %s, want %s to %s", ErrConfig, c.Lease, leastLease, greatLease)
	}
	if c.Layout == (idgen.Layout{}) {
		c.Layout = idgen.Sharded.Layout
	}
	if c.Layout.Bits(idgen.Shard) == 0 || c.Layout.Bits(idgen.Sequence) == 0 {
		return c, fmt.Errorf("%w: the Layout %s, want one with the fields shard and sequence", ErrConfig, c.Layout)
	}
	for i, m := range c.Models {
		if t := reflect.TypeOf(m.Of); t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return c, fmt.Errorf("%w: Models[%d].Of is a %T, want a pointer to a struct", ErrConfig, i, m.Of)
		}
		if m.Column == "" {
			return c, fmt.Errorf("%w: Models[%d] has no Column, the sharding column of %T", ErrConfig, i, m.Of)
		}
	}
	for _, name := range c.databases() {
		other := c.Databases[name]
		switch {
		case name == "":
			return c, fmt.Errorf("%w: Databases has one without a name, which is the router's own", ErrConfig)
		case other == nil || other.Config == nil || other.ConnPool == nil:
			return c, fmt.Errorf("%w: Databases[%q] is not open", ErrConfig, name)
		case other.Name() != db.Name():
			return c, fmt.Errorf("%w: Databases[%q] is of the kind %s, the router's own of %s", ErrDatabase, name, other.Name(), db.Name())
		case other.Plugins["snowkey"] != nil || other.Plugins[(*Router)(nil).Name()] != nil:
			return c, fmt.Errorf("%w: Databases[%q] has a plugin of this module already, and the router needs to be the only one", ErrConfig, name)
		}
	}
	return c, nil
}

// firstMap returns the map that the router makes when there is none.
func (c Config) firstMap() (*idshard.Map, error) {
	m, err := idshard.NewMap(c.Layout, c.Shards...)
	if err != nil || c.Lease == 0 {
		return m, err
	}
	if m, err = m.WithLease(c.Lease); err != nil {
		return nil, err
	}
	return m.First(), nil
}

// databases returns the names of the other databases, in their order.
func (c Config) databases() []string {
	names := make([]string, 0, len(c.Databases))
	for name := range c.Databases {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
