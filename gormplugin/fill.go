package gormplugin

import (
	"fmt"

	"gorm.io/gorm"
)

// fill gives every row of a statement that has no key one, all in one call of the source.
func (k *key) fill(stmt *gorm.Statement) error {
	if k.by != nil {
		return k.fillSharded(stmt)
	}
	if !k.selected(stmt) {
		return nil
	}
	missing, rows := 0, 0
	err := eachRow(stmt, func(r row) error {
		rows++
		if !k.isMissing(stmt.Context, r) {
			return nil
		}
		if !r.canSet() {
			return fmt.Errorf("%w: a %s was passed by value, so its key cannot be set; pass a pointer", gorm.ErrInvalidValue, r.value.Type())
		}
		missing++
		return nil
	})
	if err != nil || missing == 0 {
		return err
	}
	keys, err := k.source.batch(stmt.Context, missing)
	defer k.source.free(keys)
	if err != nil {
		return err
	}
	u, next := upsertOf(stmt), 0
	return eachRow(stmt, func(r row) error {
		if missing < rows && !k.isMissing(stmt.Context, r) {
			return nil
		}
		u.note(r, k)
		next++
		return k.set(stmt.Context, r, keys, next-1)
	})
}
