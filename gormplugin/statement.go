package gormplugin

import (
	"context"
	"reflect"
	"runtime"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// statement is what the plugin knows of one INSERT from its first callback to its last, see create.go: which rows it has given a key, so
// that it can take the keys back when the rows are not written. It belongs to the statement's goroutine.
type statement struct {
	of            *gorm.Statement
	parent        *statement   // whose association this statement saves, nil for none
	saved         []*statement // of associations: they have ended, and are undone with this one's transaction
	isAssociation bool         // GORM saves an association by it

	ctx         context.Context
	plan        *plan           // nil before the rows are filled
	rows        []row           // as they were read
	restore     []func()        // by index: put back what a row had in the place of a key, nil for zero
	beforeHooks []reflect.Value // by index: the keys that were set before the hooks, with BeforeHooks
	upsert      *upsert         // nil unless it may meet rows
	replaced    bool            // the statement has a derived schema until the INSERT is done
	watched     bool            // the answer to the INSERT may tell whether the table counts, see traps
	ownResult   bool            // GORM's place for the answer is the plugin's
	sent        bool            // the INSERT may have reached the database
	written     bool            // the rows are in the table

	streams []heldStream // until the INSERT is done

	few [4]row // rows of most statements
}

// heldStream is a stream of a source's keys that a statement has taken. Where a callback of the application's panics between the keys and the INSERT, no
// callback of the plugin's comes after it: the stream is returned when the statement is garbage.
type heldStream struct {
	of      streams
	stream  int64
	cleanup runtime.Cleanup
}

func (h heldStream) giveBack() { h.of.ReturnStream(h.stream) }

// stream returns the stream that the statement has of a source, and takes one where it has none; noStream for a source without streams.
func (s *statement) stream(of *source) int64 {
	if of.streams == nil {
		return noStream
	}
	for _, held := range s.streams {
		if held.of == of.streams {
			return held.stream
		}
	}
	held := heldStream{of: of.streams, stream: of.streams.TakeStream()}
	held.cleanup = runtime.AddCleanup(s, heldStream.giveBack, held)
	s.streams = append(s.streams, held)
	return held.stream
}

// returnStreams returns the streams of keys: the rows are in the database, or will never be.
func (s *statement) returnStreams() {
	for _, held := range s.streams {
		held.cleanup.Stop()
		held.giveBack()
	}
	s.streams = nil
}

// index is where restore and beforeHooks have a key of a row.
func (s *statement) index(number, key int) int { return number*len(s.plan.keys) + key }

// statementSetting is the key of a statement among a GORM statement's settings, which GORM copies to the statements of associations.
type statementSetting struct{}

// currentStatement returns the statement that has begun, nil for none.
func currentStatement(stmt *gorm.Statement) *statement {
	if found, ok := stmt.Settings.Load(statementSetting{}); ok && found.(*statement).of == stmt {
		return found.(*statement)
	}
	return nil
}

func beginStatement(stmt *gorm.Statement) *statement {
	s := &statement{of: stmt}
	if found, ok := stmt.Settings.Load(statementSetting{}); ok && found.(*statement).of != stmt {
		s.parent = found.(*statement)
		// GORM's own mark. The statement of an association has it from the start. Others get it when they save theirs, and keep it when they are
		// used again, but have no parent.
		_, s.isAssociation = stmt.Settings.Load("gorm:saved_association_map")
	}
	stmt.Settings.Store(statementSetting{}, s)
	return s
}

// savesOthers reports whether statements of a schema may save associations.
func savesOthers(s *schema.Schema) bool {
	if s == nil {
		return false
	}
	of := &s.Relationships
	return len(of.BelongsTo) > 0 || len(of.HasOne) > 0 || len(of.HasMany) > 0 || len(of.Many2Many) > 0
}

// ownsTransaction reports whether GORM has begun a transaction for a statement.
func ownsTransaction(db *gorm.DB) bool {
	if db.SkipDefaultTransaction {
		return false
	}
	_, owns := db.InstanceGet("gorm:started_transaction")
	return owns
}

// end leaves what is to be taken back with the statement around it.
func (s *statement) end() {
	s.returnStreams()
	s.of.Settings.Delete(statementSetting{})
	if s.parent != nil {
		s.parent.saved = append(s.parent.saved, s)
	}
}

// keepMade keeps the keys that were set before the hooks.
func (s *statement) keepMade() {
	s.beforeHooks = make([]reflect.Value, len(s.rows)*len(s.plan.keys))
	for number := range s.rows {
		for i, k := range s.plan.keys {
			if r := &s.rows[number]; r.made.has(i) {
				s.beforeHooks[s.index(number, i)] = k.current(s.ctx, r)
			}
		}
	}
}

// setSchema puts a derived schema in the place of a plan's until the INSERT is done. Should maps have names that only GORM's naming strategy
// knows, it is one of this statement alone that knows them too.
func (s *statement) setSchema(derived *schema.Schema) {
	of := s.plan.schema
	if derived != of && isMaps(s.of) {
		own := derived
		for i := range s.rows {
			for name := range s.rows[i].columns() {
				field := of.LookUpField(name)
				if field == nil || own.LookUpField(name) != nil {
					continue
				}
				if own == derived {
					own = derive(derived)
				}
				own.FieldsByName[name] = own.FieldsByDBName[field.DBName]
			}
		}
		derived = own
	}
	s.of.Schema, s.replaced = derived, derived != of
}

// restoreSchema puts GORM's schema back.
func (s *statement) restoreSchema() {
	if s.replaced {
		s.of.Schema, s.replaced = s.plan.schema, false
	}
}
