// Package filled says which fields of a model gormplugin fills, to packages of this module that check tables: gormplugin exports no names for them.
package filled

import (
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
)

// Key is a field that the plugin fills with integers, and their layout: the zero Layout of a source without a method Layout.
type Key struct {
	Field  *schema.Field
	Layout idgen.Layout
}

// Integers returns the fields of a model that a gormplugin.Plugin fills with integers. The error wraps gormplugin.ErrKey for a field that
// cannot hold them, and gormplugin.ErrNoSource for a source that the plugin does not have, or does not have before db.Use. Package
// gormplugin sets the function when it is initialized; nothing else writes to it.
var Integers func(plugin gorm.Plugin, of *schema.Schema) ([]Key, error)
