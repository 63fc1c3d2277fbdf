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

	"github.com/snowkey-go/snowkey/internal/dialect"
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

// spaces is what the file has, as JSON.
type spaces struct {
	Spaces map[string]*contents `json:"spaces"`
}

func (f *file) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	err = f.locked(ctx, func(s *spaces) (changed bool) {
		c, found := s.Spaces[space]
		if !found {
			c = &contents{Layout: layout, ID: randomID()}
			s.Spaces[space] = c
		}
		inForce = c.Layout
		return c.repair() || !found
	})
	if err != nil {
		return "", err
	}
	return inForce, nil
}

func (f *file) List(ctx context.Context, space string, least, most int64) (l Listing, err error) {
	err = f.locked(ctx, func(s *spaces) bool {
		l = s.Spaces[space].list(time.Now().UTC(), least, most)
		return false
	})
	if err != nil {
		return Listing{}, err
	}
	return l, nil
}

func (f *file) Swap(ctx context.Context, space string, old, new Row) (swapped bool, err error) {
	err = f.locked(ctx, func(s *spaces) bool {
		swapped = s.Spaces[space].swap(old, new)
		return swapped
	})
	return swapped && err == nil, err
}

func (f *file) Move(ctx context.Context, space, to, old, new string, most int64) (moved bool, err error) {
	err = f.locked(ctx, func(s *spaces) bool {
		moved = move(s.Spaces, space, to, old, new, most)
		return moved
	})
	return moved && err == nil, err
}

func (f *file) Record(ctx context.Context, space string, loss Loss) error {
	return f.locked(ctx, func(s *spaces) bool {
		s.Spaces[space].record(loss)
		return true
	})
}

func (f *file) Losses(ctx context.Context, space string) (losses []Loss, err error) {
	err = f.locked(ctx, func(s *spaces) bool {
		if c := s.Spaces[space]; c != nil {
			losses = c.Losses
		}
		return false
	})
	return losses, err
}

// locked lets work see, and change, what the file has, alone among all processes.
func (f *file) locked(ctx context.Context, work func(*spaces) (changed bool)) (err error) {
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
		if err := dialect.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	c := spaces{}
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
		c.Spaces = map[string]*contents{}
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
	if info, err := os.Lstat(f.path); err == nil && info.Mode()&fs.ModeSymlink != 0 { // else another process has made it meanwhile
		return "", errors.New("it is a link to a file that is not there")
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(f.path))
	return filepath.Join(folder, filepath.Base(f.path)), err
}

// write replaces a file, and returns when that is on the disk.
func write(path string, c spaces) (err error) {
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
