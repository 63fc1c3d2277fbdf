package zkgrant

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// keys are the names of a space.
type keys struct {
	folder string // the path of the node that has all
	space  string // the first part of the space's node
}

// keys returns the names of a space. Those of all names that a space has after changes of its layout are in one folder.
func (s *Store) keys(space string) keys {
	first := tag(space)
	later := strings.TrimPrefix(space, first)
	if first == "." || first == ".." { // which are no names of nodes
		first = strings.ReplaceAll(first, ".", "%2E")
	}
	return keys{folder: s.prefix + "/" + first, space: kindSpace + later}
}

// tag returns the space without what a change of its layout has added.
func tag(space string) string {
	first, _, _ := strings.Cut(space, "~")
	return first
}

// The kinds of nodes: the first part of their names.
const (
	kindRevision = "revision"
	kindSpace    = "space" // and what a change of the layout has added
	kindMark     = "mark"
	kindRow      = "node"
	kindLoss     = "loss"
)

// join returns the name of a node. A text from outside is escaped, so that a comma ends a part.
func join(parts ...any) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		switch part := part.(type) {
		case int64:
			texts[i] = strconv.FormatInt(part, 10)
		case string:
			texts[i] = url.PathEscape(part)
		}
	}
	return strings.Join(texts, ",")
}

// header is the node of a space.
type header struct {
	space  string // kindSpace and what a change of the layout has added
	id     string
	absent int64
	moved  string // the mark of the Move that has given the rows to another name
	layout string
}

func (h header) node() string { return join(h.space, h.id, h.absent, h.moved, h.layout) }

// mark is the node of what all rows have in common.
type mark struct {
	id          string
	until, made int64 // the greatest until of any row, and how many were ever added
	call        string
}

func (m mark) node() string { return join(kindMark, m.id, m.until, m.made, m.call) }

// row is the node of a number.
type row struct {
	grant.Row
	id, call string
}

func (r row) node() string { return join(kindRow, r.id, r.Number, r.Until, r.From, r.call, r.Holder) }

// loss is the node of one. Losses are counted from 1; those that are recorded at once may have the same count.
type loss struct {
	grant.Loss
	id    string
	count int64
	call  string
}

func (l loss) node() string {
	return join(kindLoss, l.id, l.count, l.Number, l.From, l.Until, l.call, l.Holder)
}

// reader takes the parts of a name one after the other.
type reader struct {
	name  string
	parts []string
	bad   bool
}

// read begins to read a name, and returns its kind.
func read(name string) (kind string, r *reader) {
	r = &reader{name: name, parts: strings.Split(name, ",")}
	return r.text(), r
}

func (r *reader) text() string {
	if len(r.parts) == 0 {
		r.bad = true
		return ""
	}
	text, err := url.PathUnescape(r.parts[0])
	r.parts, r.bad = r.parts[1:], r.bad || err != nil
	return text
}

func (r *reader) number() int64 {
	n, err := strconv.ParseInt(r.text(), 10, 64)
	r.bad = r.bad || err != nil || n < 0
	return n
}

// end returns an error where the name was not that of a node as it was written.
func (r *reader) end() error {
	if r.bad || len(r.parts) > 0 {
		return fmt.Errorf("%w: the node %q has a name that the store did not write", grant.ErrStore, r.name)
	}
	return nil
}

func (r *reader) header(space string) (h header, err error) {
	h = header{space: space, id: r.text(), absent: r.number(), moved: r.text(), layout: r.text()}
	r.bad = r.bad || h.id == ""
	return h, r.end()
}

func (r *reader) mark(id string) (m mark, err error) {
	m = mark{id: id, until: r.number(), made: r.number(), call: r.text()}
	return m, r.end()
}

func (r *reader) row(id string) (w row, err error) {
	w = row{id: id, Row: grant.Row{Number: r.number(), Until: r.number(), From: r.number()}, call: r.text()}
	w.Holder = r.text()
	return w, r.end()
}

func (r *reader) loss(id string) (l loss, err error) {
	l = loss{id: id, count: r.number(), Loss: grant.Loss{Number: r.number(), From: r.number(), Until: r.number()}, call: r.text()}
	l.Holder = r.text()
	return l, r.end()
}
