package gormplugin

import (
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/sqltype"
)

// Model is [gorm.Model] with a key that the plugin fills in: the same four fields, to be embedded in models.
type Model struct {
	ID        sqltype.ID `gorm:"primarykey"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
}
