package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	marker    = "-- the plan as the program reads it; any change above or below makes it another plan"
	prefix    = "-- | " // of the lines below the marker, which no marker begins with
	lineWidth = 160     // of JSON in them, in letters
)

// Text returns the plan as people read it: SQL in order, with each step's lock, algorithm, estimates and what undoes it in comments, and at the end
// the plan as JSON in comments, which is what Parse reads. Everything but that JSON is made from it, so Parse notices any change.
func (p *Plan) Text() ([]byte, error) {
	encoded, err := p.encode()
	if err != nil {
		return nil, err
	}
	var w writer
	w.plan(p, digest(encoded))
	w.line(marker)
	for rest := []rune(string(encoded)); len(rest) > 0; {
		n := min(lineWidth, len(rest))
		for n < len(rest) && (rest[n-1] == ' ' || rest[n] == ' ') { // editors cut spaces at the end of a line
			n++
		}
		w.line(prefix + string(rest[:n]))
		rest = rest[n:]
	}
	return w.Bytes(), nil
}

// Hash returns the SHA-256 of the plan's JSON in hexadecimal.
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

func marshal(p *Plan) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // SQL has < and >
	if err := encoder.Encode(p); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// Parse reads what Text has written. The error wraps [ErrText], or [ErrChanged] when it is not byte for byte what Text writes.
func Parse(text []byte) (*Plan, error) {
	encoded, err := block(text)
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(encoded, &head); err != nil {
		return nil, fmt.Errorf("%w: its last lines are not whole, or were changed: %v", ErrText, err)
	}
	if head.Schema == nil || *head.Schema != Schema {
		found := "no form"
		if head.Schema != nil {
			found = fmt.Sprintf("the form %d", *head.Schema)
		}
		return nil, fmt.Errorf("%w: it has %s, this program reads the form %d: make the plan again with this one, or use the one that has made it", ErrText, found, Schema)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	var p Plan
	if err := decoder.Decode(&p); err != nil {
		return nil, fmt.Errorf("%w: its last lines: %v", ErrText, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is something after its last line", ErrText)
	}
	want, err := p.Text()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrText, err)
	}
	if !bytes.Equal(text, want) {
		return nil, differs(text, want)
	}
	return &p, nil
}

// block returns the JSON that is below the last marker.
func block(text []byte) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%w: the file is empty", ErrText)
	}
	found := bytes.LastIndex(text, []byte("\n"+marker))
	if found < 0 {
		return nil, fmt.Errorf("%w: it has no line that reads %q: it is another file, or was cut off", ErrText, marker)
	}
	rest, whole := bytes.CutPrefix(text[found+1+len(marker):], []byte("\n"))
	if bytes.HasPrefix(rest, []byte("\r\n")) {
		return nil, fmt.Errorf("%w: its lines end in CR LF, as those of Windows do, and have to end in LF: convert it, and have it transferred as it is", ErrText)
	}
	if !whole || len(rest) == 0 {
		return nil, fmt.Errorf("%w: it was cut off below the line %q", ErrText, marker)
	}
	var encoded bytes.Buffer
	for line := range bytes.Lines(rest) {
		part, ok := bytes.CutPrefix(line, []byte(prefix))
		if !ok {
			return nil, fmt.Errorf("%w: a line below %q does not begin with %q: %q", ErrText, marker, prefix, shorten(string(line)))
		}
		encoded.Write(bytes.TrimSuffix(part, []byte("\n")))
	}
	if !bytes.HasSuffix(rest, []byte("\n")) {
		return nil, fmt.Errorf("%w: its last line has no end: it was cut off", ErrText)
	}
	return encoded.Bytes(), nil
}

// differs returns the error for a text that is not what was written, with the first line that differs.
func differs(got, want []byte) error {
	gots, wants := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i, w := range wants {
		if i >= len(gots) || gots[i] != w {
			g := ""
			if i < len(gots) {
				g = gots[i]
			}
			return fmt.Errorf("%w: line %d reads %q, and was made as %q: make the plan again, with other options where it has to be another", ErrChanged, i+1, shorten(g), shorten(w))
		}
	}
	return fmt.Errorf("%w: line %d, %q, was added", ErrChanged, len(wants)+1, shorten(gots[len(wants)]))
}

// shorten returns the beginning of a line, for errors.
func shorten(line string) string {
	if runes := []rune(line); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return line
}
