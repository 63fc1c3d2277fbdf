package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files returns the paths of a plan's two files by the path of either: the .sql that people read, and the .json that a run reads.
func Files(path string) (sql, json string) {
	if rest, ok := strings.CutSuffix(path, ".json"); ok {
		return rest + ".sql", path
	}
	return path, strings.TrimSuffix(path, filepath.Ext(path)) + ".json"
}

// WriteFiles writes a plan's two files, of which one is named. The error wraps [fs.ErrExist] when one of them is there already.
func (p *Plan) WriteFiles(path string) (err error) {
	text, err := p.Text()
	if err != nil {
		return err
	}
	encoded, err := p.Encode()
	if err != nil {
		return err
	}
	sql, json := Files(path)
	if err := write(sql, text); err != nil {
		return err
	}
	if err := write(json, encoded); err != nil {
		return errors.Join(err, os.Remove(sql)) // half a plan is none
	}
	return nil
}

// write makes a file that is not there yet.
func write(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// ReadFiles reads a plan by the path of one of its files. What people have read has to be what is run: the error wraps [ErrChanged], with the
// first line that differs, when one of the two was changed, and [ErrText] when it is none. A .json alone will do; a .sql needs its .json.
func ReadFiles(path string) (*Plan, error) {
	sql, json := Files(path)
	text, err := os.ReadFile(sql)
	if err != nil && (sql == path || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	alone := err != nil
	encoded, err := os.ReadFile(json)
	if errors.Is(err, fs.ErrNotExist) && sql == path {
		return nil, fmt.Errorf("%w: there is no %s beside it, which is the plan that is run: plan writes both, keep them together", ErrText, filepath.Base(json))
	}
	if err != nil {
		return nil, err
	}
	p, err := Parse(encoded)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(json), err)
	}
	if alone {
		return p, nil
	}
	if err := p.Check(text); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(sql), err)
	}
	return p, nil
}
