package dbserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// copy fills the data folder, which is empty, with what the template has.
func (g *guardProcess) copy(template string) error {
	return copyFolder(filepath.Join(g.dir, "data"), template, g.credential)
}

// keep makes a template of the data folder. It gets its name when all of it is on the
// disk, so that no failure leaves half of it there.
func (g *guardProcess) keep(template string) error {
	made, err := os.MkdirTemp(filepath.Dir(template), ".unfinished-")
	if err != nil {
		return err
	}
	if err = copyFolder(made, filepath.Join(g.dir, "data"), nil); err == nil {
		err = syncFolder(made)
	}
	if err == nil {
		err = os.Rename(made, template)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) { // another process has made the same meanwhile
		err = nil
	}
	return errors.Join(err, os.RemoveAll(made))
}

// syncFolder returns when all that was written to the folder's file system is on the
// disk: once for a thousand files.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(folder.Fd())), folder.Close())
}

// copyFolder copies what the folder from has into the folder to, for the owner; nil is
// the guard's own user.
func copyFolder(to, from string, owner *syscall.Credential) error {
	buffer := make([]byte, 64<<10)
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case info.IsDir():
			err = os.Mkdir(target, info.Mode().Perm())
		case info.Mode().IsRegular():
			err = copyFile(target, path, info.Mode().Perm(), buffer)
		default:
			err = fmt.Errorf("%s is neither a file nor a folder", path)
		}
		if err == nil && owner != nil {
			err = os.Chown(target, int(owner.Uid), int(owner.Gid))
		}
		return err
	})
}

// copyFile leaves holes where there are zeros: more than half of a new server's data
// are logs that nothing was written to.
func copyFile(to, from string, mode fs.FileMode, buffer []byte) (err error) {
	source, err := os.Open(filepath.Clean(from))
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(filepath.Clean(to), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	size := int64(0)
	for {
		n, err := source.Read(buffer)
		if err == io.EOF {
			return target.Truncate(size)
		}
		if err != nil {
			return err
		}
		// Bytes that are each like the one before, of which the first is 0.
		if empty := n > 0 && buffer[0] == 0 && bytes.Equal(buffer[:n-1], buffer[1:n]); !empty {
			if _, err := target.WriteAt(buffer[:n], size); err != nil {
				return err
			}
		}
		size += int64(n)
	}
}
