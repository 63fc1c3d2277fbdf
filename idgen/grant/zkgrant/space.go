package zkgrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// snapshot is what a space has at one moment.
type snapshot struct {
	now      time.Time // the leader's time of a read that is not old
	folder   bool      // there is one
	revision string    // the name of its node
	others   []string  // the spaces of the folder, this one too
	there    bool
	header   header
	// The rest has nothing where the space is not there, or has moved.
	mark   mark
	rows   []row // in the order of their numbers
	losses []loss
}

// gone returns how many rows are.
func (a snapshot) gone() int64 { return max(0, a.mark.made-int64(len(a.rows))) }

// held returns the tick until which numbers without a row are held.
func (a snapshot) held() int64 {
	if a.gone() > 0 {
		return max(a.header.absent, a.mark.until)
	}
	return a.header.absent
}

// row returns the row of a number.
func (a snapshot) row(number int64) (row, bool) {
	i, found := slices.BinarySearchFunc(a.rows, number, func(r row, n int64) int { return cmp.Compare(r.Number, n) })
	if !found {
		return row{}, false
	}
	return a.rows[i], true
}

// read returns a space as it is now, or later.
func (s *Store) read(ctx context.Context, k keys) (snapshot, error) {
	for {
		before := s.known()
		written, _, err := ask(ctx, func() (*zk.Stat, error) { return s.client.Set(k.folder, nil, -1) })
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return snapshot{now: time.Now().Round(0)}, nil
		case err != nil:
			return snapshot{}, err
		}
		s.notice(before, written.Mzxid)
		at, zxid, err := s.readAnyAge(ctx, k)
		if err != nil {
			return snapshot{}, err
		}
		if at.folder && zxid >= written.Mzxid {
			at.now = time.UnixMilli(written.Mtime)
			return at, nil
		}
		if err := pause(ctx, leastWait); err != nil { // the server is behind the one that took the write, or somebody has deleted the folder
			return snapshot{}, err
		}
	}
}

// readAnyAge returns a space as it was once, and the transaction that had last written its folder then.
func (s *Store) readAnyAge(ctx context.Context, k keys) (at snapshot, zxid int64, err error) {
	type answer struct {
		names []string
		stat  *zk.Stat
	}
	got, _, err := ask(ctx, func() (answer, error) {
		names, stat, err := s.client.Children(k.folder)
		return answer{names, stat}, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return snapshot{}, 0, nil
	case err != nil:
		return snapshot{}, 0, err
	}
	at, err = parse(got.names, k.space)
	if err != nil {
		return snapshot{}, 0, fmt.Errorf("%w, in %s", err, k.folder)
	}
	return at, got.stat.Mzxid, nil
}

// parse reads the names of a folder's nodes.
func parse(names []string, space string) (at snapshot, err error) {
	at.folder = true
	for _, name := range names {
		switch kind, r := read(name); {
		case kind == kindRevision && at.revision != "":
			return snapshot{}, fmt.Errorf("%w: there are two nodes %q", grant.ErrStore, kind)
		case kind == kindRevision:
			at.revision = name
		case kind == space && at.there:
			return snapshot{}, fmt.Errorf("%w: there are two nodes %q", grant.ErrStore, kind)
		case kind == space:
			if at.header, err = r.header(kind); err != nil {
				return snapshot{}, err
			}
			at.there, at.others = true, append(at.others, kind)
		case strings.HasPrefix(kind, kindSpace):
			at.others = append(at.others, kind)
		}
	}
	if at.revision == "" {
		return snapshot{}, fmt.Errorf("%w: the node %q is gone", grant.ErrStore, kindRevision)
	}
	if !at.there || at.header.moved != "" {
		return at, nil
	}
	marks := 0
	for _, name := range names {
		kind, r := read(name)
		if kind != kindMark && kind != kindRow && kind != kindLoss || r.text() != at.header.id {
			continue // of another identity
		}
		switch kind {
		case kindMark:
			at.mark, err = r.mark(at.header.id)
			marks++
		case kindRow:
			var w row
			w, err = r.row(at.header.id)
			at.rows = append(at.rows, w)
		case kindLoss:
			var l loss
			l, err = r.loss(at.header.id)
			at.losses = append(at.losses, l)
		}
		if err != nil {
			return snapshot{}, err
		}
	}
	if marks != 1 {
		return snapshot{}, fmt.Errorf("%w: there are %d nodes %q of the identity %s, want one", grant.ErrStore, marks, kindMark, at.header.id)
	}
	slices.SortFunc(at.rows, func(a, b row) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(at.losses, func(a, b loss) int { return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.call, b.call)) })
	for i := 1; i < len(at.rows); i++ {
		if at.rows[i].Number == at.rows[i-1].Number {
			return snapshot{}, fmt.Errorf("%w: there are two rows of number %d", grant.ErrStore, at.rows[i].Number)
		}
	}
	return at, nil
}
