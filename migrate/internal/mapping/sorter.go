package mapping

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// entry is an old row, and the slots that the rows of its unit share.
type entry struct {
	slotRange slotRange
	id        int64
}

const entryBytes = 24

func compare(a, b entry) int {
	return cmp.Or(cmp.Compare(a.slotRange.first, b.slotRange.first), cmp.Compare(a.id, b.id))
}

// sorter puts rows in the order of their new ids. What does not fit into its memory, 12 MB, it keeps in files of the folder for temporary ones, 24 bytes a
// row: databases do not sort times as this package reads them.
type sorter struct {
	held  []entry
	most  int
	files []*os.File
}

func newSorter() *sorter { return &sorter{most: 1 << 19} }

// add takes a row.
func (s *sorter) add(e entry) error {
	s.held = append(s.held, e)
	if len(s.held) < s.most {
		return nil
	}
	if err := s.spill(); err != nil {
		return fmt.Errorf("mapping: sorting: %w", err)
	}
	return nil
}

// spill writes what is held to a file.
func (s *sorter) spill() error {
	slices.SortFunc(s.held, compare)
	file, err := os.CreateTemp("", "snowkey-mapping-")
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	w := bufio.NewWriterSize(file, 1<<16)
	var b [entryBytes]byte
	for _, e := range s.held {
		for i, n := range []int64{e.slotRange.first, e.slotRange.last, e.id} {
			binary.LittleEndian.PutUint64(b[8*i:], uint64(n))
		}
		_, _ = w.Write(b[:]) // Flush has the error
	}
	s.held = s.held[:0]
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// close removes the files.
func (s *sorter) close() error {
	var failed []error
	for _, file := range s.files {
		failed = append(failed, file.Close(), os.Remove(file.Name()))
	}
	s.files = nil
	return errors.Join(failed...)
}

// run is one sorted part, of which head is the next.
type run struct {
	head   entry
	file   *bufio.Reader
	memory []entry
}

// next moves on; it is false at the end.
func (r *run) next() (bool, error) {
	if r.file == nil {
		if len(r.memory) == 0 {
			return false, nil
		}
		r.head, r.memory = r.memory[0], r.memory[1:]
		return true, nil
	}
	var b [entryBytes]byte
	if _, err := io.ReadFull(r.file, b[:]); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("mapping: sorting: %w", err)
	}
	r.head.slotRange.first = int64(binary.LittleEndian.Uint64(b[0:]))
	r.head.slotRange.last = int64(binary.LittleEndian.Uint64(b[8:]))
	r.head.id = int64(binary.LittleEndian.Uint64(b[16:]))
	return true, nil
}

// each calls a function for every row that was added, in order. It can be called once.
func (s *sorter) each(ctx context.Context, row func(entry) error) error {
	slices.SortFunc(s.held, compare)
	heap := []*run{{memory: s.held}}
	for _, file := range s.files {
		heap = append(heap, &run{file: bufio.NewReaderSize(file, 1<<15)})
	}
	var failed error
	heap = slices.DeleteFunc(heap, func(r *run) bool {
		more, err := r.next()
		failed = cmp.Or(failed, err)
		return !more
	})
	if failed != nil {
		return failed
	}
	slices.SortFunc(heap, func(a, b *run) int { return compare(a.head, b.head) }) // which is a heap, too
	for n := 0; len(heap) > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := row(heap[0].head); err != nil {
			return err
		}
		more, err := heap[0].next()
		if err != nil {
			return err
		}
		if !more {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sift(heap)
	}
	return nil
}

// sift moves the first run of a heap down to where it belongs.
func sift(heap []*run) {
	for i := 0; ; {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(heap) && compare(heap[child].head, heap[least].head) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
