package dbserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// StartCopy is [Start] for those who start many servers, such as tests. A data folder
// is made once for each version of the programs, kept below the folder templates, and
// copied for each server, which takes a tenth of the work of making one. Other
// processes may do the same at the same time. What is kept there is complete, or not
// there, and stays until the folder's owner removes it.
//
// It takes cp, chown and sync of GNU's coreutils.
//
// PostgreSQL's servers that are copies of one folder all have its system identifier.
func StartCopy(ctx context.Context, templates, kind string, settings ...string) (*Server, error) {
	return start(ctx, kind, settings, func(s *Server) error { return s.copy(ctx, templates) })
}

// copy fills the data folder from its template, which it makes where there is none.
func (s *Server) copy(ctx context.Context, templates string) error {
	name, err := templateName(s.engine, s.programs)
	if err != nil {
		return err
	}
	template := filepath.Join(templates, name)
	switch _, err := os.Stat(template); {
	case err == nil:
		if err := copyFolder(s.guard.data(), template); err != nil {
			return fmt.Errorf("dbserver: copying the data folder of a %s server from %s: %w", s.engine.kind(), template, err)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("dbserver: the data folder that servers are copies of: %w", err)
	}
	if err := s.initialise(ctx); err != nil {
		return err
	}
	for _, path := range s.engine.identity(s.guard.dir) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("dbserver: making a data folder to be copied: %w", err)
		}
	}
	if err := keep(template, s.guard.data()); err != nil {
		return fmt.Errorf("dbserver: keeping a data folder to be copied as %s: %w", template, err)
	}
	return nil
}

// keep makes a template of a data folder. It gets its name when all of it is on the
// disk, so that no failure leaves half of it there.
func keep(template, data string) error {
	made, err := os.MkdirTemp(filepath.Dir(template), ".unfinished-")
	if err != nil {
		return err
	}
	if err = copyFolder(made, data); err == nil {
		err = command("sync", "-f", made) // its file system, once for a thousand files
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

// copyFolder copies what the folder from has into the folder to, and gives it the owner of that. It leaves holes where there are zeros: more than half of
// a new server's data are logs that nothing was written to.
func copyFolder(to, from string) error {
	err := command("cp", "-R", "--sparse=always", from+"/.", to)
	if err == nil {
		err = command("chown", "-R", "--reference="+to, to)
	}
	return err
}

// command runs a program of GNU's coreutils.
func command(name string, args ...string) error {
	if said, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(said))
	}
	return nil
}

// templateName is another one for each way in which the folder is made: other
// arguments, or programs that were replaced.
func templateName(e engine, p programs) (string, error) {
	digest := sha256.New()
	fmt.Fprintf(digest, "%q", e.initialise(p, ""))
	for _, path := range []string{p.server, p.init} {
		if path == "" { // the server makes its folder itself
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", fmt.Errorf("dbserver: looking at a program of a %s server: %w", e.kind(), err)
		}
		fmt.Fprintf(digest, " %q %d %d", path, info.Size(), info.ModTime().UnixNano())
	}
	return e.kind() + "-" + hex.EncodeToString(digest.Sum(nil)[:8]), nil
}
