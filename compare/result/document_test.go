package result_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
)

// written is a result as text.
func written(t *testing.T, r result.Document) string {
	t.Helper()
	var b strings.Builder
	if err := result.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// small is a document of a few lines that Load takes.
func small() result.Document {
	return result.Document{
		Schema: result.Schema, Tool: "snowkey v1.2.3", Made: time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600)), Seconds: 1.5,
		Plan: result.Plan{Profile: "quick", Strategies: []string{"snowkey"}, Rows: 100, Batch: 10, Rounds: 2, Seed: math.MaxUint64},
		Databases: []result.Database{{
			Name: "a \"b, \\ [1, 2] {x: null} <é>\n", Kind: "sqlite", Cache: result.Measured(1, 2.5, 1e21, 5e-324),
			Strategies: []result.Strategy{{Name: "snowkey", Growth: result.Growth{Rows: 100, Batches: [][]int64{{1, 2}, {3, 4}}}}},
		}},
	}
}

func TestWriteAndLoad(t *testing.T) {
	for name, r := range map[string]result.Document{"sample": sample(), "small": small()} {
		text := written(t, r)
		again, err := result.Load(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := written(t, again); got != text {
			t.Errorf("%s: other bytes after being read", name)
		}
		if name == "sample" && !reflect.DeepEqual(again.Databases[0].Strategies[0], r.Databases[0].Strategies[0]) {
			t.Errorf("%s: another strategy after being read: %+v", name, again.Databases[0].Strategies[0])
		}
	}
	again, err := result.Load(strings.NewReader(written(t, small())))
	if err != nil {
		t.Fatal(err)
	}
	if want := small(); again.Databases[0].Name != want.Databases[0].Name || !again.Made.Equal(want.Made) || again.Made.Location() != time.UTC ||
		again.Plan.Seed != want.Plan.Seed || !reflect.DeepEqual(again.Databases[0].Cache, want.Databases[0].Cache) {
		t.Errorf("got %+v", again)
	}
}

func TestWriteForm(t *testing.T) {
	r := small()
	r.Databases[0].Strategies[0].Read.Recent = result.Measured(-1, 2) // which Load refuses
	text := written(t, r)
	for _, want := range []string{
		"{\n\t\"schema\": 2,\n\t\"tool\": \"snowkey v1.2.3\",\n\t\"made\": \"2026-01-02T02:04:05.0000006Z\",\n",
		"\t\t\"strategies\": [\n\t\t\t\"snowkey\"\n\t\t],\n",
		"\t\t\t\"cache\": {\n\t\t\t\t\"samples\": [1,2.5,1e+21,5e-324]\n\t\t\t},\n",
		"\"settings\": [],\n",
		"\"floor\": {}\n",
		"\"samples\": [-1,2]\n",
		"\"batches_us\": [\n\t\t\t\t\t\t\t[1,2],\n\t\t\t\t\t\t\t[3,4]\n\t\t\t\t\t\t],\n",
		`"name": "a \"b, \\ [1, 2] {x: null} <é>\n",`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not there: %s", want)
		}
	}
	if !strings.HasSuffix(text, "\n}\n") || strings.Contains(strings.ReplaceAll(text, "{x: null}", ""), "null") {
		t.Errorf("the end is %q, or there is a null", text[len(text)-3:])
	}
}

// A document of many samples takes a few bytes more than their digits.
func TestWriteIsSmall(t *testing.T) {
	r := small()
	samples := make([]int64, 400_000)
	for i := range samples {
		samples[i] = int64(100 + i%900)
	}
	r.Databases[0].Strategies[0].Latency.Samples = samples
	if n := len(written(t, r)); n > 4*len(samples)+8192 {
		t.Errorf("%d bytes for %d samples of three digits", n, len(samples))
	}
}

func TestWriteRefusesWhatJSONCannotSay(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		r := small()
		r.Databases[0].Cache.Add(x)
		var b bytes.Buffer
		if err := result.Write(&b, r); err == nil || !strings.HasPrefix(err.Error(), "compare: ") || b.Len() > 0 {
			t.Errorf("%v: got %v and %d bytes", x, err, b.Len())
		}
	}
}

// shut is a writer without room.
type shut struct{ error }

func (s shut) Write([]byte) (int, error) { return 0, s.error }

func TestWriterAndReaderThatFail(t *testing.T) {
	full := errors.New("no space left")
	if err := result.Write(shut{full}, sample()); !errors.Is(err, full) {
		t.Errorf("writing: got %v", err)
	}
	_, err := result.Load(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(full)))
	if !errors.Is(err, full) || errors.Is(err, result.ErrDocument) {
		t.Errorf("reading: got %v", err)
	}
}

func TestLoadTurnsTimesToUTC(t *testing.T) {
	text := strings.Replace(written(t, small()), "T02:04:05.0000006Z", "T04:04:05.0000006+02:00", 1)
	r, err := result.Load(strings.NewReader(text))
	if err != nil || r.Made.Location() != time.UTC || !r.Made.Equal(small().Made) {
		t.Errorf("got %v and %v", r.Made, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	text := written(t, small())
	change := func(from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("there is no %s", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	for _, c := range []struct {
		name, text string
		is         error
		says       string
	}{
		{"empty", "", result.ErrDocument, "empty or cut off"},
		{"cut off", text[:len(text)/2], result.ErrDocument, "empty or cut off"},
		{"cut off by a byte", text[:len(text)-2], result.ErrDocument, "empty or cut off"},
		{"something after it", text + "{}", result.ErrDocument, "after top-level value"},
		{"twice", text + text, result.ErrDocument, "after top-level value"},
		{"no JSON", "schema: 2\n", result.ErrDocument, "no JSON at byte 1"},
		{"NaN", change("[1,2.5,", "[NaN,2.5,"), result.ErrDocument, "no JSON at byte"},
		{"too large", change("[1,2.5,", "[1e999,2.5,"), result.ErrDocument, `"databases.cache.samples" cannot be number 1e999`},
		{"a list", "[1]", result.ErrDocument, "not an object"},
		{"null", "null", result.ErrSchema, `no field "schema"`},
		{"no schema", change("\"schema\": 2,", ""), result.ErrSchema, `no field "schema"`},
		{"an older one", change("\"schema\": 2,", "\"schema\": 1, \"old\": 5,"), result.ErrSchema, `schema 1, made by "snowkey v1.2.3", and this program reads schema 2: render it with`},
		{"a newer one", change("\"schema\": 2,", "\"schema\": 3, \"new\": 5,"), result.ErrSchema, "use a newer version"},
		{"an unknown field", change("\"seconds\":", "\"secs\": 1, \"seconds\":"), result.ErrDocument, `unknown field "secs"`},
		{"text for a number", change("\"rows\": 100", "\"rows\": \"100\""), result.ErrDocument, `"plan.rows" cannot be string`},
		{"a time that is none", change("2026-01-02T", "2026-13-02T"), result.ErrDocument, "month out of range"},
		{"contradictions", change("[3,4]", "[]"), result.ErrDocument, "growth.batches_us[1]: minItems"},
	} {
		_, err := result.Load(strings.NewReader(c.text))
		if !errors.Is(err, c.is) || !strings.HasPrefix(err.Error(), "compare: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.says)
		}
	}
}

// What Load takes can be used and written, and is the same when it is read again.
func FuzzLoad(f *testing.F) {
	var b bytes.Buffer
	if err := result.Write(&b, small()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema":2}`))
	f.Add([]byte(`{"schema":1,"tool":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := result.Load(bytes.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "compare: ") {
				t.Errorf("got %v", err)
			}
			return
		}
		for _, d := range r.Databases {
			for _, s := range d.Strategies {
				_ = s.Growth.Overall().String() + s.Growth.Slowdown().String()
				s.Latency.Percentiles(0, 50, 100)
				_ = result.Differ(d.Cache, s.Growth.Overall())
			}
		}
		first := written(t, r)
		again, err := result.Load(strings.NewReader(first))
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second := written(t, again); second != first {
			t.Errorf("first\n%s\nthen\n%s", first, second)
		}
	})
}
