package gormplugin

import (
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// A struct whose row was not written keeps no key of the plugin's: the keys that a statement has made are taken back from it.

// isLost reports whether the error of a statement leaves open what the database has done.
func isLost(db *gorm.DB) bool {
	d, _ := dialect.Lookup(db.Name())
	return db.Error != nil && d.Unanswered(db.Error)
}

// fail ends a statement with an error, and takes back the keys of rows that are not in the table: its own rows, and after a rollback of its
// transaction those of its associations too. When the answer to an INSERT without a transaction was lost, a key stays, since the row may exist: to
// create it again is then a duplicate, and not a second row.
func (s *statement) fail(rolledBack, lost bool) {
	if rolledBack {
		s.takeBackAll()
	} else {
		s.takeBackUnwritten(lost)
	}
	s.end()
}

func (s *statement) takeBackUnwritten(lost bool) {
	_, within := s.of.ConnPool.(gorm.TxCommitter)
	if !s.written && !(lost && s.sent && !within) {
		s.takeBack()
	}
}

func (s *statement) takeBackAll() {
	for _, saved := range s.saved {
		saved.takeBackAll()
	}
	s.takeBack()
}

func (s *statement) takeBack() {
	for number := range s.rows {
		s.takeBackFrom(number)
	}
}

// takeBackFrom puts back what a row had in the place of the keys that it was given.
func (s *statement) takeBackFrom(number int) {
	r := &s.rows[number]
	for i, k := range s.plan.keys {
		switch {
		case !r.made.has(i):
		case s.restore != nil && s.restore[s.index(number, i)] != nil:
			s.restore[s.index(number, i)]()
		default:
			k.clear(s.ctx, r)
		}
	}
}
