package gormplugin

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

// leavesNarrow tells whether AllKeys leaves a model's key to the database since it has fewer bits than a key of the plugin.
func (p *Plugin) leavesNarrow(s *schema.Schema) bool {
	field := s.PrioritizedPrimaryField
	if !p.allKeys || field == nil || len(s.PrimaryFields) != 1 || !isNarrow(field.IndirectFieldType) || isForeignKey(s, field) || isJoin(s, field) {
		return false
	}
	_, tagged := field.TagSettings[tag]
	return !tagged && !isAutoIncrementOff(field)
}

// isAutoIncrementOff tells whether a field is tagged as one whose values somebody sets.
func isAutoIncrementOff(field *schema.Field) bool {
	setting, ok := field.TagSettings["AUTOINCREMENT"]
	return ok && !utils.CheckTruth(setting)
}

// warn says to the logger of a statement that AllKeys leaves the key of its model, the first time.
func (p *planned) warn(db *gorm.DB) {
	if p.narrow && p.warned.CompareAndSwap(false, true) {
		db.Logger.Warn(db.Statement.Context, "gormplugin: %s", narrowText(db.Statement.Schema))
	}
}

func narrowText(s *schema.Schema) string {
	field := s.PrioritizedPrimaryField
	return fmt.Sprintf("AllKeys leaves the key %s of %s to the database: its type %s has fewer than 64 bits; make it int64 to have it filled in, "+
		"or tag it `gorm:\"snowkey:-\"` to leave it without a warning", field.Name, s.Name, field.FieldType)
}
