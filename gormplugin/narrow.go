package gormplugin

import (
	"fmt"
	"sync"
	"sync/atomic"

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

// narrowModels are those of which a warning is due that AllKeys leaves their keys to the database.
type narrowModels struct {
	due    atomic.Int64 // how many there are, so that a statement need not look when there are none; atomic
	models sync.Map     // *schema.Schema → nil
}

// noteNarrow keeps a model in mind whose plan is made, should AllKeys leave its key.
func (p *Plugin) noteNarrow(s *schema.Schema) {
	if p.leavesNarrow(s) {
		p.narrow.models.Store(s, nil)
		p.narrow.due.Add(1)
	}
}

// warnNarrow says to the logger of a statement that AllKeys leaves the key of its model, the first time.
func (p *Plugin) warnNarrow(db *gorm.DB) {
	if p.narrow.due.Load() == 0 {
		return
	}
	if _, due := p.narrow.models.LoadAndDelete(db.Statement.Schema); due {
		p.narrow.due.Add(-1)
		db.Logger.Warn(db.Statement.Context, "gormplugin: %s", narrowText(db.Statement.Schema))
	}
}

func narrowText(s *schema.Schema) string {
	field := s.PrioritizedPrimaryField
	return fmt.Sprintf("AllKeys leaves the key %s of %s to the database: its type %s has fewer than 64 bits; make it int64 to have it filled in, "+
		"or tag it `gorm:\"snowkey:-\"` to leave it without a warning", field.Name, s.Name, field.FieldType)
}
