package shard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

// small is a layout with 16 buckets.
func small(t testing.TB) idgen.Layout {
	return must(t, idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(4), idgen.Shard.Bits(4))
}

// TestMapText holds the JSON form to what stores have: a map that was written must be read for ever.
func TestMapText(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	m = made(t)(m.Grow(shard.Shard{Name: "east-1", Database: "east"}, shard.Shard{Name: "east-2", Database: "east", Suffix: "_2"}))
	m = made(t)(m.Move("00", 1, 2, 3, 4, 6))
	m = made(t)(m.WithShards(shard.Shard{Name: "before"}))
	m = made(t)(m.WithLegacy(shard.Legacy{Below: 250316521226241024, Shard: "before"}))
	m = made(t)(m.Spread(int64(-42), 8))
	m = made(t)(m.Spread(uint64(1<<63), 4))
	m = made(t)(m.Spread(`Zürich "<&>"`, 2))
	m = made(t)(m.Spread([]byte{0xff, 0x00}, 16))
	m = made(t)(m.Spread([3]octet{'a', 'b', 'c'}, 2))
	m = made(t)(m.Spread("", 2))
	want, err := os.ReadFile("testdata/map.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, m); !bytes.Equal(got, want) {
		t.Errorf("the map is\n%s\nwant\n%s", got, want)
	}
	again := made(t)(shard.ParseMap(want))
	if got := text(t, again); !bytes.Equal(got, want) {
		t.Errorf("read and written again it is\n%s", got)
	}
	if again.Version() != 11 || again.Layout() != sharded || !slices.Equal(again.Shards(), m.Shards()) {
		t.Errorf("version %d of %s with %v", again.Version(), again.Layout(), again.Shards())
	}
	for _, key := range []any{-42, uint64(1 << 63), `Zürich "<&>"`, []byte{0xff, 0}, "abc", "", "other", 1} {
		a, errA := m.OfKey(nil, key)
		b, errB := again.OfKey(nil, key)
		if !slices.Equal(a, b) || errA != nil || errB != nil {
			t.Errorf("key %v is in %v, %v, and when the map is read again in %v, %v", key, a, errA, b, errB)
		}
	}
	compact, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, made(t)(shard.ParseMap(compact))); !bytes.Equal(got, want) {
		t.Errorf("without spaces it is read as\n%s", got)
	}
}

func TestMapTextOfEveryShape(t *testing.T) {
	for name, buckets := range map[string][]int64{
		"one": {3}, "two": {3, 4}, "three": {3, 4, 5}, "steps": {0, 5, 10, 15}, "rest": {0, 1, 2, 4, 6, 9}, "last": {15}, "pairs": {0, 1, 5, 6, 10, 11, 15}, "most": {0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	} {
		m := made(t)(made(t)(shard.NewMap(small(t), shard.Tables(1)...)).WithShards(more(1, 2)...))
		m = made(t)(m.Move("01", buckets...))
		again := made(t)(shard.ParseMap(text(t, m)))
		if got := owned(t, again)["01"]; !slices.Equal(got, buckets) {
			t.Errorf("%s: %v, want %v, by\n%s", name, got, buckets, text(t, m))
		}
	}
}

func TestParseMapErrors(t *testing.T) {
	const valid = `{"version":"7","layout":"time=41@1ms,shard=4;epoch=2025-01-01T00:00:00Z",
		"shards":[{"name":"a","suffix":"_a","buckets":"0-14/2"},{"name":"b","suffix":"_b","buckets":"1-15/2"}],
		"legacy":{"below":"1000","shard":"a"},"spread":[{"integer":"42","over":4},{"text":"acme","over":2},{"bytes":"ff","over":2}]}`
	if m, err := shard.ParseMap([]byte(valid)); err != nil || m.Version() != 7 {
		t.Fatal(m, err)
	}
	for name, change := range map[string][2]string{
		"nothing":                          {valid, ""},
		"null":                             {valid, "null"},
		"another type":                     {valid, "[]"},
		"text after it":                    {`"over":2}]}`, `"over":2}]} {}`},
		"half of it":                       {`"over":2}]}`, ``},
		"not UTF-8":                        {"acme", "\xff"},
		"an unknown field":                 {`"version"`, `"rows":1,"version"`},
		"an unknown field of a shard":      {`"name":"a"`, `"table":"x","name":"a"`},
		"a field twice":                    {`"version":"7"`, `"version":"7","version":"8"`},
		"a field of a shard twice":         {`"suffix":"_a"`, `"suffix":"_a","suffix":"_c"`},
		"a field in another case":          {`"version"`, `"Version"`},
		"version 0":                        {`"7"`, `"0"`},
		"a negative version":               {`"7"`, `"-7"`},
		"a version that is no text":        {`"7"`, `7`},
		"a version above 63 bits":          {`"7"`, `"9223372036854775808"`},
		"no version":                       {`"version":"7",`, ``},
		"no layout":                        {`"layout":"time=41@1ms,shard=4;epoch=2025-01-01T00:00:00Z",`, ``},
		"a layout that is none":            {`time=41@1ms,`, ``},
		"a layout without buckets":         {`shard=4`, `node=4`},
		"a layout with fewer buckets":      {`shard=4`, `shard=3`},
		"a layout with more buckets":       {`shard=4`, `shard=5`},
		"a layout with too many":           {`shard=4`, `shard=17`},
		"a bucket missing":                 {`0-14/2`, `2-14/2`},
		"a bucket twice":                   {`0-14/2`, `0-14/2,1`},
		"a bucket twice in a shard":        {`0-14/2`, `0-14/2,0`},
		"a bucket that there is not":       {`1-15/2`, `1-17/2`},
		"a great bucket":                   {`1-15/2`, `1-15/2,18446744073709551615`},
		"a great range":                    {`1-15/2`, `1-4294967295/2`},
		"a negative bucket":                {`0-14/2`, `-1,0-14/2`},
		"a range that ends before":         {`0-14/2`, `0-14/2,9-7`},
		"a step of 0":                      {`0-14/2`, `0-14/0`},
		"a step of no range":               {`0-14/2`, `0/2,2-14/2`},
		"a range without an end":           {`0-14/2`, `0-/2`},
		"words for buckets":                {`0-14/2`, `all`},
		"a comma too many":                 {`0-14/2`, `0-14/2,`},
		"a space":                          {`0-14/2`, `0-14/2 `},
		"no shards":                        {`{"name":"a","suffix":"_a","buckets":"0-14/2"},{"name":"b","suffix":"_b","buckets":"1-15/2"}`, ``},
		"a name twice":                     {`"name":"b"`, `"name":"a"`},
		"no name":                          {`"name":"b",`, ``},
		"a place twice":                    {`"_b"`, `"_a"`},
		"a suffix that is no identifier":   {`"_b"`, `"_b; DROP"`},
		"ids from before in no shard":      {`"shard":"a"`, `"shard":"c"`},
		"ids from before below 0":          {`"1000"`, `"-1"`},
		"ids from before below nothing":    {`{"below":"1000","shard":"a"}`, `{}`},
		"all ids from before":              {`"1000"`, `"9223372036854775807"`},
		"ids from before below no text":    {`"1000"`, `1000`},
		"a spread key over 3":              {`"over":4`, `"over":3`},
		"a spread key over 1":              {`"over":4`, `"over":1`},
		"a spread key over 0":              {`,"over":4`, ``},
		"a spread key over too many":       {`"over":4`, `"over":32`},
		"a spread key twice":               {`"text":"acme"`, `"integer":"42"`},
		"a spread key twice, as a text":    {`"bytes":"ff"`, `"bytes":"61636d65"`},
		"a spread key of no kind":          {`"text":"acme",`, ``},
		"a spread key of two kinds":        {`"text":"acme"`, `"text":"acme","integer":"43"`},
		"a spread key of an unknown kind":  {`"text":"acme"`, `"float":"1.5"`},
		"an integer above 64 bits":         {`"42"`, `"18446744073709551616"`},
		"an integer that is none":          {`"42"`, `"4.2"`},
		"an integer that is no text":       {`"42"`, `42`},
		"bytes that are not hexadecimal":   {`"ff"`, `"f"`},
		"a spread key twice, by its value": {`"text":"acme"`, `"integer":"+42"`},
	} {
		changed := strings.Replace(valid, change[0], change[1], 1)
		if changed == valid {
			t.Fatalf("%s: nothing is changed", name)
		}
		m, err := shard.ParseMap([]byte(changed))
		if !errors.Is(err, shard.ErrMap) || m != nil {
			t.Errorf("%s: %v, %v, want ErrMap", name, m, err)
		}
		if err != nil && len(err.Error()) < 30 {
			t.Errorf("%s: %v does not say what is wrong", name, err)
		}
	}
	deep := strings.Repeat("[", 1_000_000)
	if _, err := shard.ParseMap([]byte(deep)); !errors.Is(err, shard.ErrMap) {
		t.Errorf("a deep text: %v, want ErrMap", err)
	}
	if _, err := shard.ParseMap([]byte(valid + deep)); !errors.Is(err, shard.ErrMap) {
		t.Errorf("a deep text after it: %v, want ErrMap", err)
	}
}

func FuzzParseMap(f *testing.F) {
	golden, err := os.ReadFile("testdata/map.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"version":"1","layout":"shard=1,time=41@1ms;epoch=2025-01-01T00:00:00Z","shards":[{"name":"a","buckets":"0,1"}]}`))
	f.Fuzz(func(t *testing.T, form []byte) {
		m, err := shard.ParseMap(form)
		if err != nil {
			if !errors.Is(err, shard.ErrMap) || m != nil {
				t.Fatalf("%v, %v, want ErrMap", m, err)
			}
			return
		}
		for b := range m.Buckets() {
			if i, err := m.OfBucket(b); err != nil || i >= len(m.Shards()) {
				t.Fatalf("bucket %d is in shard %d of %d, %v", b, i, len(m.Shards()), err)
			}
		}
		again, err := shard.ParseMap(text(t, m))
		if err != nil || !bytes.Equal(text(t, again), text(t, m)) {
			t.Fatalf("%v\n%s", err, text(t, m))
		}
	})
}

func TestBuckets(t *testing.T) {
	for text, want := range map[string]shard.Buckets{
		"": nil, "3": {3}, "0-3,17": {0, 1, 2, 3, 17}, "0-1008/336": {0, 336, 672, 1008}, "17,0-2": {0, 1, 2, 17}, "65535": {65535},
	} {
		got, err := shard.ParseBuckets(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
		again, err := shard.ParseBuckets(got.String())
		if err != nil || !slices.Equal(again, want) {
			t.Errorf("%q: got %v, %v from %q, want %v", text, again, err, got, want)
		}
	}
	for _, text := range []string{"x", "3-1", "1,1", "0-3,2", "65536", "-1", "1-", "0-4/0", "3/2", "0-99999999999", "1,,2"} {
		if got, err := shard.ParseBuckets(text); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%q: got %v, %v, want ErrMap", text, got, err)
		}
	}
}
