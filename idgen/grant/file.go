package grant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// File returns a store in a small file, for the processes of one machine that have no database; with a number that is set by hand,
//
//	grant.Open(ctx, grant.File("/var/lib/app/node.json"), grant.Config{
//		Generator: []idgen.Option{idgen.WithNode(7)}, For: 10 * time.Second, Wait: 15 * time.Second,
//	})
//
// it is that process's memory: one that starts again after its clock was set back goes on after the last tick that may have been used, by
// up to [Config.MaxSkew], or is refused. A process that was killed keeps its number for the rest of For, so that is chosen short, and Wait
// longer.
//
// The folder must be there. Beside the file a lock is made, with ".lock" after its name, which works on Linux, the BSDs and macOS, on
// file systems of the machine itself; elsewhere all methods fail. The file is replaced as a whole, and on the disk, before a swap is
// reported. Errors wrap [ErrFile].
func File(path string) Store { return &file{path: path} }

type file struct{ path string }

// contents is what the file has, as JSON.
type contents struct {
	Spaces map[string]fileSpace `json:"spaces"`
}

type fileSpace struct {
	Layout string `json:"layout"`
	Rows   []Row  `json:"rows"` // by number
}

func (f *file) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	err = f.locked(ctx, func(c *contents) (changed bool) {
		s, found := c.Spaces[space]
		if !found {
			s.Layout = layout
			c.Spaces[space] = s
		}
		inForce = s.Layout
		return !found
	})
	if err != nil {
		return "", err
	}
	return inForce, nil
}

func (f *file) List(ctx context.Context, space string, least, most int64) (l Listing, err error) {
	err = f.locked(ctx, func(c *contents) bool {
		l.Now = time.Now().UTC()
		for _, row := range c.Spaces[space].Rows {
			if least <= row.Number && row.Number <= most {
				l.Rows = append(l.Rows, row)
			}
		}
		return false
	})
	if err != nil {
		return Listing{}, err
	}
	return l, nil
}

func (f *file) Swap(ctx context.Context, space string, old, new Row) (swapped bool, err error) {
	err = f.locked(ctx, func(c *contents) bool {
		s, found := c.Spaces[space]
		if !found {
			return false
		}
		at, there := slices.BinarySearchFunc(s.Rows, old.Number, func(row Row, number int64) int { return cmp.Compare(row.Number, number) })
		switch {
		case old.Holder == Absent && !there:
			s.Rows = slices.Insert(s.Rows, at, new)
		case old.Holder != Absent && there && s.Rows[at].Holder == old.Holder && s.Rows[at].Until == old.Until:
			s.Rows[at] = new
		default:
			return false
		}
		c.Spaces[space] = s
		swapped = true
		return true
	})
	return swapped && err == nil, err
}

// locked lets work see, and change, what the file has, alone among all processes.
func (f *file) locked(ctx context.Context, work func(*contents) (changed bool)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %s: %w", ErrFile, f.path, err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.path == "" {
		return errors.New("its path is empty")
	}
	path, err := f.real()
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // which ends the lock
	for {
		done, err := tryLock(lock)
		if err != nil {
			return err
		}
		if done {
			break
		}
		if !sleep(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
	c := contents{}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&c); err != nil {
			return fmt.Errorf("it is not one of grants, and is left as it is: %w", err)
		}
		if decoder.More() {
			return errors.New("it has more than grants, and is left as it is")
		}
		for _, s := range c.Spaces {
			slices.SortFunc(s.Rows, func(a, b Row) int { return cmp.Compare(a.Number, b.Number) })
		}
	}
	if c.Spaces == nil {
		c.Spaces = map[string]fileSpace{}
	}
	if !work(&c) {
		return nil
	}
	return write(path, c)
}

// real returns the path without symbolic links, so that the lock is the same by whatever name, and a link stays one.
func (f *file) real() (string, error) {
	path, err := filepath.EvalSymlinks(f.path)
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if _, err := os.Lstat(f.path); err == nil {
		return "", errors.New("it is a link to a file that is not there")
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(f.path))
	return filepath.Join(folder, filepath.Base(f.path)), err
}

// write replaces a file, and returns when that is on the disk.
func write(path string, c contents) (err error) {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	fresh, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fresh.Write(append(text, '\n'))
	if err = errors.Join(err, fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
