package gormplugin

import (
	"fmt"

	"gorm.io/gorm"
)

// fill gives every row of a statement that has no key one, all in one call of the source, or of a sharded one in a call for each bucket.
func (k *key) fill(s *statement) error {
	place := k.placing(s)
	if selected := k.selected(s.of); place == nil && !selected {
		return nil
	} else if place != nil && (!selected || !writes(s.of, k.by.DBName)) {
		return errUnplaced(k)
	}
	missing, n := s.flags[:0], 0
	if most := s.rows.most(); most > cap(missing) || s.given[0].rows != nil {
		missing = make([]bool, 0, most)
	}
	err := s.rows.each(func(number int, r row) (err error) {
		is := k.isMissing(s.ctx, r)
		if is && place != nil {
			is, err = place.add(number, r)
		}
		if missing = append(missing, is); !is || err != nil {
			return err
		}
		if n++; !r.canSet() {
			return fmt.Errorf("%w: the type %s was passed by value, so its key cannot be set; pass a pointer", gorm.ErrInvalidValue, r.value.Type())
		}
		return nil
	})
	if err != nil || n == 0 {
		return err
	}
	var keys *batch
	if place != nil {
		keys, err = place.batch()
	} else {
		keys, err = k.source.batch(s.ctx, n)
	}
	defer k.source.free(keys)
	if err != nil {
		return err
	}
	return s.give(k, missing, keys)
}
