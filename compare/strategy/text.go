package strategy

import (
	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// text is a key of text that is compared byte by byte, whatever the database's collation: with another one, texts that differ may be equal, or
// in another order than their bytes.
type text string

// GormDBDataType gives the column's type.
func (text) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	return columnType(db, `varchar(255) COLLATE "C"`, "varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "text")
}

// columnType returns the type that a key's column has on a database.
func columnType(db *gorm.DB, postgres, mysql, sqlite string) string {
	switch db.Name() {
	case "postgres":
		return postgres
	case "mysql":
		return mysql
	}
	return sqlite
}
