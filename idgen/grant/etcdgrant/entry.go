package etcdgrant

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// keys are the names of a space's keys.
type keys struct {
	folder        string // with a slash at the end
	space, losses string
}

// keys returns the names of a space. Those of all names that a space has after changes of its layout are in one folder.
func (s *Store) keys(space string) keys {
	first := tag(space)
	folder, later := s.prefix+first+"/", strings.TrimPrefix(space, first)
	return keys{folder: folder, space: folder + "space" + later, losses: folder + "losses" + later}
}

// tag returns the space without what a change of its layout has added.
func tag(space string) string {
	first, _, _ := strings.Cut(space, "~")
	return first
}

// contents are the names of what belongs to an identity.
type contents struct{ mark, made, clock, nodes string }

func (k keys) of(id string) contents {
	folder := k.folder + id + "/"
	return contents{mark: folder + "mark", made: folder + "made", clock: folder + "clock", nodes: folder + "node/"}
}

func (c contents) node(number int64) string { return c.nodes + digits(number) }

// digits returns a number from 0 as keys and values have it, so that they are in its order.
func digits(n int64) string { return fmt.Sprintf("%019d", n) }

// header is the value of a space.
type header struct {
	ID     string `json:"id"`
	Layout string `json:"layout"`
	Absent int64  `json:"absent"`
	Moved  string `json:"moved,omitempty"` // the mark of the Move that has given the rows to another name
}

// rowValue is the value of a number.
type rowValue struct {
	Holder string `json:"holder"`
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
	Call   string `json:"call"` // the mark of the swap, a random one for each call of Swap
}

// lossValue is an entry of the losses.
type lossValue struct {
	Number int64  `json:"number"`
	Holder string `json:"holder"`
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
	Call   string `json:"call"`
}

// sample is the value of the clock: when the last swap was made, by the clock of its process.
type sample struct {
	At   int64  `json:"at"` // milliseconds since 1970
	Name string `json:"name"`
	Call string `json:"call"`
}

// entry is a key with its value, or without one where the revision is 0.
type entry struct {
	key, value string
	revision   int64 // of the last change
}

func entryOf(kv *mvccpb.KeyValue) entry {
	return entry{string(kv.Key), string(kv.Value), kv.ModRevision}
}

// first returns the entry of a key that was asked for.
func first(key string, kvs []*mvccpb.KeyValue) entry {
	if len(kvs) == 0 {
		return entry{key: key}
	}
	return entryOf(kvs[0])
}

// same compares that the entry has not been changed.
func (e entry) same() clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(e.key), "=", e.revision)
}

// absent compares that there is no such key.
func absent(key string) clientv3.Cmp { return entry{key: key}.same() }

// row is a row with its entry.
type row struct {
	grant.Row
	call string
	entry
}

// same compares the value too: a cluster that is restored from a copy counts the same revisions again.
func (r row) same() []clientv3.Cmp {
	return []clientv3.Cmp{r.entry.same(), clientv3.Compare(clientv3.Value(r.key), "=", r.value)}
}

func parseRow(e entry, nodes string) (row, error) {
	number, err := strconv.ParseInt(strings.TrimPrefix(e.key, nodes), 10, 64)
	var v rowValue
	if err != nil || json.Unmarshal([]byte(e.value), &v) != nil || v.Call == "" {
		return row{}, fmt.Errorf("%w: the key %q has %q, which is no row", grant.ErrStore, e.key, e.value)
	}
	return row{grant.Row{Number: number, Holder: v.Holder, From: v.From, Until: v.Until}, v.Call, e}, nil
}

func parseHeader(e entry) (h header, err error) {
	if json.Unmarshal([]byte(e.value), &h) != nil || h.ID == "" {
		return header{}, fmt.Errorf("%w: the key %q has %q, which is no space", grant.ErrStore, e.key, e.value)
	}
	return h, nil
}

func (e entry) number() (int64, error) {
	n, err := strconv.ParseInt(e.value, 10, 64)
	if err != nil || len(e.value) != len(digits(0)) || n < 0 {
		return 0, fmt.Errorf("%w: the key %q has %q, which is no number of 19 digits", grant.ErrStore, e.key, e.value)
	}
	return n, nil
}

func (e entry) losses() (all []lossValue, err error) {
	if e.revision > 0 && json.Unmarshal([]byte(e.value), &all) != nil {
		return nil, fmt.Errorf("%w: the key %q has %q, which are no losses", grant.ErrStore, e.key, e.value)
	}
	return all, nil
}

func putDigits(key string, n int64) clientv3.Op { return clientv3.OpPut(key, digits(n)) }

func putJSON(key string, value any) clientv3.Op {
	text, _ := json.Marshal(value) // never fails for the types above
	return clientv3.OpPut(key, string(text))
}

func putRow(key string, r grant.Row, call string) clientv3.Op {
	return putJSON(key, rowValue{r.Holder, r.From, r.Until, call})
}

// raise sets a number of 19 digits to one that is greater.
func raise(key string, n int64) clientv3.Op {
	return clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "<", digits(n))}, []clientv3.Op{putDigits(key, n)}, nil)
}

// nameOf returns the name of a holder that is for people.
func nameOf(holder string) string {
	name, _, _ := strings.Cut(holder, "#")
	return name
}
