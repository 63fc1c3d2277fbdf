package shard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/idgen"
)

// mapText is the JSON form of a map.
type mapText struct {
	Version int64        `json:"version,string"`
	Layout  string       `json:"layout"`
	Lease   *string      `json:"lease,omitempty"` // as a time.Duration is written; the usual one without
	Shards  []shardText  `json:"shards"`
	Legacy  *Legacy      `json:"legacy,omitempty"`
	Spread  []spreadText `json:"spread,omitempty"`
}

type shardText struct {
	Shard
	Buckets string `json:"buckets"` // see Buckets
}

type spreadText struct {
	keyText
	Over int `json:"over"`
}

// MarshalJSON writes the map, so that one can read and review it: a line a shard, buckets as ranges, 64-bit numbers as texts.
//
//	{
//	  "version": "3",
//	  "layout": "time=41@1ms,node=8,sequence=4,shard=10;epoch=2025-01-01T00:00:00Z",
//	  "lease": "30s",
//	  "shards": [
//	    {"name":"00","suffix":"_00","buckets":"0-1022/2"},
//	    {"name":"01","suffix":"_01","buckets":"1-1023/2"}
//	  ],
//	  "legacy": {"below":"250316521226241024","shard":"00"},
//	  "spread": [
//	    {"integer":"42","over":8}
//	  ]
//	}
//
// "0-1022/2" is every second bucket from 0 to 1022. The key of a spread one is an "integer", a "text", or "bytes" in hexadecimal that are no text.
// The error wraps [ErrMap] for the zero Map.
func (m *Map) MarshalJSON() ([]byte, error) {
	if len(m.of) == 0 {
		return nil, fmt.Errorf("%w: the zero Map has no buckets", ErrMap)
	}
	layout, err := json.Marshal(m.layout.Fingerprint())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"version\": \"%d\",\n  \"layout\": %s", m.version, layout)
	if m.lease != 0 {
		fmt.Fprintf(&b, ",\n  \"lease\": \"%s\"", m.lease)
	}
	b.WriteString(",\n  \"shards\": ")
	shards := make([]any, len(m.shards))
	for i, own := range m.owned() {
		shards[i] = shardText{m.shards[i], own.String()}
	}
	if err := writeLines(&b, shards); err != nil {
		return nil, err
	}
	if l, ok := m.Legacy(); ok {
		text, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",\n  \"legacy\": %s", text)
	}
	if len(m.spread) > 0 {
		b.WriteString(",\n  \"spread\": ")
		if err := writeLines(&b, m.spreadTexts()); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// spreadTexts returns the keys that are spread, in the order of their texts.
func (m *Map) spreadTexts() []any {
	sorted := make([]spread, 0, len(m.spread))
	for _, s := range m.spread {
		sorted = append(sorted, s)
	}
	slices.SortFunc(sorted, func(a, b spread) int { return strings.Compare(a.key.String(), b.key.String()) })
	texts := make([]any, len(sorted))
	for i, s := range sorted {
		texts[i] = spreadText{s.key, int(s.over)}
	}
	return texts
}

// writeLines writes an array with a line an element.
func writeLines(b *bytes.Buffer, values []any) error {
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.WriteString(map[bool]string{true: "[\n    ", false: ",\n    "}[i == 0])
		b.Write(text)
	}
	b.WriteString("\n  ]")
	return nil
}

// ParseMap reads what [Map.MarshalJSON] has written. The error wraps [ErrMap], with what is wrong: a field that is not known or given twice, a bucket
// that no shard or more than one has, and whatever the functions that make maps refuse.
func ParseMap(text []byte) (*Map, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: the text is not UTF-8", ErrMap)
	}
	var form mapText
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil {
		return nil, fmt.Errorf("%w: not the JSON of one: %w", ErrMap, err)
	}
	if err := checkFields(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMap, err)
	}
	layout, err := idgen.ParseLayout(form.Layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMap, err)
	}
	m := &Map{version: form.Version, layout: layout}
	if m.version < 1 {
		return nil, fmt.Errorf("%w: version %d, the first is 1", ErrMap, m.version)
	}
	if err := m.checkLayout(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMap, err)
	}
	if err := m.readShards(form.Shards); err != nil {
		return nil, err
	}
	if err := m.readLease(form.Lease); err != nil {
		return nil, err
	}
	if form.Legacy != nil {
		if m.legacy = *form.Legacy; m.legacy == (Legacy{}) {
			return nil, fmt.Errorf("%w: ids from before without a number and a shard", ErrMap)
		}
	}
	if err := m.readSpread(form.Spread); err != nil {
		return nil, err
	}
	return m.derive()
}

// readLease reads the lease, which is there when it is not the usual one.
func (m *Map) readLease(text *string) (err error) {
	if text == nil {
		return nil
	}
	m.lease, err = time.ParseDuration(*text)
	if err != nil || m.lease == defaultLease {
		return fmt.Errorf("%w: lease %q, want a duration such as 30s, or none for %s", ErrMap, *text, defaultLease)
	}
	return checkLease(m.lease)
}

// readShards gives every bucket its shard.
func (m *Map) readShards(shards []shardText) error {
	if len(shards) > 1<<maxMapBits {
		return fmt.Errorf("%w: %d shards, at most %d", ErrMap, len(shards), 1<<maxMapBits)
	}
	m.of = make([]uint16, m.layout.Max(idgen.Shard)+1)
	given := make([]bool, len(m.of))
	for i, s := range shards {
		err := eachBucket(s.Buckets, func(b uint64) error {
			if b >= uint64(len(given)) {
				return fmt.Errorf("bucket %d, there are %d from 0", b, len(given))
			}
			if given[b] {
				return fmt.Errorf("bucket %d is given twice, also to shard %s", b, shards[m.of[b]].Name)
			}
			given[b], m.of[b] = true, uint16(i)
			return nil
		})
		if err != nil {
			return fmt.Errorf("%w: shard %s: %w", ErrMap, s.Name, err)
		}
		m.shards = append(m.shards, s.Shard)
	}
	if b := slices.Index(given, false); b >= 0 {
		return fmt.Errorf("%w: no shard has bucket %d", ErrMap, b)
	}
	return nil
}

// readSpread reads the keys that are spread.
func (m *Map) readSpread(texts []spreadText) error {
	m.spread = make(map[uint64]spread, len(texts))
	for _, s := range texts {
		key, err := s.key()
		if err != nil {
			return fmt.Errorf("%w: spread: %w", ErrMap, err)
		}
		sum, err := Sum(key)
		if err != nil {
			return fmt.Errorf("%w: spread: %w", ErrMap, err)
		}
		if err := m.checkOver(s.Over); err != nil || s.Over == 1 {
			return fmt.Errorf("%w: spread: key %s over %d buckets, want a power of two from 2 to %d", ErrMap, s.keyText, s.Over, len(m.of))
		}
		if _, ok := m.spread[sum]; ok {
			return fmt.Errorf("%w: spread: key %s is given twice", ErrMap, s.keyText)
		}
		text, err := newKeyText(key)
		if err != nil {
			return fmt.Errorf("%w: spread: %w", ErrMap, err)
		}
		m.spread[sum] = spread{key: text, over: uint64(s.Over)}
	}
	return nil
}

// checkFields refuses what encoding/json takes: a name that is given twice in an object, or in another case, and what follows the value. It is for
// texts that encoding/json has read, which are not nested too deep.
func checkFields(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := checkValue(d); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

func checkValue(d *json.Decoder) error {
	start, err := d.Token()
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for start == json.Delim('{') || start == json.Delim('[') {
		if !d.More() {
			_, err := d.Token()
			return err
		}
		if start == json.Delim('{') {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string) // the decoder lets nothing else be there
			if names[name] || name != strings.ToLower(name) {
				return fmt.Errorf("the field %q is given twice, or not in small letters", name)
			}
			names[name] = true
		}
		if err := checkValue(d); err != nil {
			return err
		}
	}
	return nil
}
