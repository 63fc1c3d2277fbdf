package database

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/snowkey-go/snowkey/compare/result"
)

// The sizes of the write-ahead log's headers, https://sqlite.org/fileformat2.html#the_write_ahead_log.
const (
	logHeader   = 32
	frameHeader = 24
	// autoCheckpoint is the pages in the log after which SQLite writes them back, by default.
	autoCheckpoint = 1000
)

// noSplits is why there are no splits.
var noSplits = result.Missing("SQLite does not count page splits")

// sqliteMeter has the write-ahead log grow without being written back, and reads it.
type sqliteMeter struct {
	e      sqliteEngine
	why    string // why there is nothing to read
	path   string // of the log
	before int    // the setting that was changed
	start  logState
}

func (e sqliteEngine) meter(ctx context.Context, scope Scope) (meter, error) {
	if scope == Splits {
		return &sqliteMeter{e: e, why: notAsked}, nil
	}
	m := &sqliteMeter{e: e}
	var mode string
	if err := e.d.inserts.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return nil, err
	}
	if mode != "wal" {
		m.why = "the journal_mode is " + mode + ": only with wal SQLite keeps a log whose size can be read"
		return m, nil
	}
	path, err := e.path(ctx)
	if err != nil {
		return nil, err
	}
	m.path = path + "-wal"
	if err := e.writeBack(ctx); errors.Is(err, errBusy) {
		m.why = err.Error()
		return m, nil
	} else if err != nil {
		return nil, err
	}
	if err := e.d.inserts.QueryRowContext(ctx, "PRAGMA wal_autocheckpoint").Scan(&m.before); err != nil {
		return nil, err
	}
	err = m.set(ctx, 0)
	if err == nil {
		err = e.beginLog(ctx)
	}
	if err == nil {
		m.start, err = readLog(m.path)
	}
	if err != nil {
		return nil, errors.Join(err, m.restore(ctx))
	}
	return m, nil
}

// beginLog begins the log by a transaction that changes nothing. The log's header then reports whether it was begun anew since.
func (e sqliteEngine) beginLog(ctx context.Context) (err error) {
	conn, err := e.d.inserts.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer func() {
		if err != nil {
			ctx, cancel := undoing(ctx)
			defer cancel()
			_, _ = conn.ExecContext(ctx, "ROLLBACK") // an error says that there is no transaction
		}
	}()
	// Immediate, lest another program change the number between its being read and written.
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var user int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&user); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", user)); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// set sets after how many pages in the log the connection for inserts writes them back.
func (m *sqliteMeter) set(ctx context.Context, pages int) error {
	var got int
	return m.e.d.inserts.QueryRowContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", pages)).Scan(&got)
}

// restore sets it as it was.
func (m *sqliteMeter) restore(ctx context.Context) error {
	ctx, cancel := undoing(ctx)
	defer cancel()
	return m.set(ctx, m.before)
}

func (m *sqliteMeter) stop(ctx context.Context, rows int) (Reading, error) {
	missing := func(why string) Reading {
		return Reading{Splits: noSplits, Log: result.Missing(why), Pages: result.Missing(why)}
	}
	if m.why != "" {
		return missing(m.why), nil
	}
	end, err := readLog(m.path)
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrNotExist) {
		end, err = logState{}, nil // emptied, which is another one
	}
	if err := errors.Join(err, m.restore(ctx)); err != nil {
		why, err := m.e.d.missing(ctx, err)
		return Reading{Splits: noSplits, Log: why, Pages: why}, err
	}
	if end.salt != m.start.salt {
		return missing("another connection, such as one that keys are drawn over, wrote the log back meanwhile"), nil
	}
	if rows < 1 {
		return missing(noRows), nil
	}
	log, pages := result.Measured(float64(end.bytes-m.start.bytes)/float64(rows)), result.Measured(float64(end.written-m.start.written)/float64(rows))
	log.Note = "frames of the write-ahead log, with their headers"
	pages.Note = fmt.Sprintf("reckoned from the log: the pages that are written back each time the log has %d of them, SQLite's default", autoCheckpoint)
	return Reading{Splits: noSplits, Log: log, Pages: pages}, nil
}

// logState is how far a write-ahead log has come.
type logState struct {
	salt    uint64 // another one each time that the log is begun anew
	bytes   int64
	written int64 // bytes of data pages that come of writing it back each autoCheckpoint pages and at the end
}

// readLog reads a log up to its last transaction.
func readLog(path string) (s logState, err error) {
	file, err := os.Open(path) // holds no locks, unlike the database's file
	if err != nil {
		return logState{}, err
	}
	defer func() { _ = file.Close() }() // was only read
	header := make([]byte, logHeader)
	if _, err := file.ReadAt(header, 0); err != nil {
		return logState{}, err
	}
	pageSize := int64(binary.BigEndian.Uint32(header[8:]))
	if pageSize < 512 {
		return logState{}, fmt.Errorf("%w: a log of pages of %d bytes", errPages, pageSize)
	}
	s = logState{salt: binary.BigEndian.Uint64(header[16:]), bytes: logHeader}
	dirty, frames := map[uint32]bool{}, 0
	var done int64
	for at := int64(logHeader); ; at += frameHeader + pageSize {
		_, err := file.ReadAt(header[:frameHeader], at)
		if errors.Is(err, io.EOF) || err == nil && binary.BigEndian.Uint64(header[8:]) != s.salt { // beyond lies an older log
			break
		}
		if err != nil {
			return logState{}, err
		}
		dirty[binary.BigEndian.Uint32(header)] = true
		frames++
		if binary.BigEndian.Uint32(header[4:]) == 0 {
			continue // of a transaction that goes on
		}
		s.bytes = at + frameHeader + pageSize
		s.written = done + int64(len(dirty))*pageSize
		if frames >= autoCheckpoint {
			clear(dirty)
			done, frames = s.written, 0
		}
	}
	return s, nil
}
