package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// file is the plan as a program reads it, in a file and in the journal.
type file struct {
	Hash string `json:"hash"`
	Plan *Plan  `json:"plan"`
}

// Encode returns the plan as JSON, with its hash: all that a run needs. [Parse] reads it.
func (p *Plan) Encode() ([]byte, error) {
	encoded, err := p.encode()
	if err != nil {
		return nil, err
	}
	text, err := marshal(file{digest(encoded), p})
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", " "); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	indented.WriteString("\n")
	return indented.Bytes(), nil
}

// Hash returns the SHA-256 of the plan's JSON in one line, in hexadecimal. It names the plan in the journal.
func (p *Plan) Hash() (string, error) {
	encoded, err := p.encode()
	if err != nil {
		return "", err
	}
	return digest(encoded), nil
}

func digest(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// encode returns the plan's JSON, in one line. It fails for a plan that would be another one when it is read again: one with a text that is not UTF-8.
func (p *Plan) encode() ([]byte, error) {
	encoded, err := marshal(p)
	if err != nil {
		return nil, err
	}
	var again Plan
	if err := json.Unmarshal(encoded, &again); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	second, err := marshal(&again)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(encoded, second) {
		return nil, errors.New("plan: a name or text in it is not UTF-8, and cannot be written to a file")
	}
	return encoded, nil
}

func marshal(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // SQL has < and >
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// Parse reads what [Plan.Encode] has written. The error wraps [ErrText], or [ErrChanged] when it is not byte for byte what Encode writes.
func Parse(text []byte) (*Plan, error) {
	refuse := func(format string, args ...any) (*Plan, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrText}, args...)...)
	}
	switch trimmed := bytes.TrimSpace(text); {
	case len(trimmed) == 0:
		return refuse("the file is empty")
	case bytes.HasPrefix(trimmed, []byte("-- snowkey migrate plan")):
		return refuse("this is what people read of a plan; the plan itself is in the .json that was written with it")
	case bytes.Contains(text, []byte("\r\n")):
		return refuse("its lines end in CR LF, as those of Windows do, and have to end in LF: convert it, and have it transferred as it is")
	}
	var head struct {
		Plan *struct {
			Schema *int `json:"schema"`
		} `json:"plan"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return refuse("it is another file, was changed, or was cut off: %v", err)
	}
	switch {
	case head.Plan == nil || head.Plan.Schema == nil:
		return refuse("it is another file: it has no plan with the number of its form")
	case *head.Plan.Schema != Schema:
		return refuse("it has the form %d, this program reads the form %d: make the plan again with this one, or use the one that has made it", *head.Plan.Schema, Schema)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var f file
	if err := decoder.Decode(&f); err != nil {
		return refuse("%v", err)
	}
	want, err := f.Plan.Encode()
	if err != nil {
		return refuse("%v", err)
	}
	if !bytes.Equal(text, want) {
		return nil, differs(text, want)
	}
	return f.Plan, nil
}

// differs returns the error for a text that is not what was written, with the first line that differs.
func differs(got, want []byte) error {
	gots, wants := strings.SplitAfter(string(got), "\n"), strings.SplitAfter(string(want), "\n")
	for i, w := range wants {
		if i < len(gots) && gots[i] == w {
			continue
		}
		if w == "" { // the end
			return fmt.Errorf("%w: line %d, %q, was added", ErrChanged, i+1, shorten(strings.TrimSuffix(gots[i], "\n")))
		}
		g := ""
		if i < len(gots) {
			g = gots[i]
		}
		return fmt.Errorf("%w: line %d reads %q, and was made as %q: make the plan again, with other options where it has to be another", ErrChanged, i+1,
			shorten(strings.TrimSuffix(g, "\n")), shorten(strings.TrimSuffix(w, "\n")))
	}
	return fmt.Errorf("%w: it ends in another way", ErrChanged)
}

// shorten returns the beginning of a line, for errors.
func shorten(line string) string {
	if runes := []rune(line); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return line
}
