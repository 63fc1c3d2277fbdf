package inspect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

func report() *inspect.Report {
	return &inspect.Report{
		Schema: 1, Database: inspect.Database{Kind: "postgres", Version: "PostgreSQL 15", Name: "shop"},
		Tables: []inspect.Table{
			{Name: "roomy", Rows: 1234567, Key: &inspect.Key{Column: "id", Type: "bigint", Bits: 64, Greatest: 2_000_000, Limit: 1<<63 - 1, Used: 0.0001, PerDay: 12, DaysLeft: 4e9}},
			{Name: "full", Rows: 12, Exact: true, Key: &inspect.Key{Column: "id", Type: "integer", Bits: 32, Auto: "nextval", Greatest: 2_083_059_138, Limit: 1<<31 - 1, Used: 0.97, PerDay: 1000, DaysLeft: 64424}, Created: &inspect.Created{Column: "made"}},
			{Name: "no\x1b[31mkey", Rows: -1, NoKey: "there is none"},
		},
		References: []inspect.Reference{
			{Table: "a", Column: "b", Path: "$.c", To: "full", ToColumn: "id", Confidence: inspect.Possible, Why: "by\nname", Orphans: -1},
			{Table: "n", Column: "o", OwnerType: "t", Owner: "x\x00", To: "full", ToColumn: "id", Confidence: inspect.Likely, Why: "so", Orphans: 1000},
		},
		Obstacles: []inspect.Obstacle{
			{Kind: "json", Text: "rounds", Do: "send texts"},
			{Table: "full", Kind: "trigger", Name: "t", Text: "fires", Do: "look", Blocks: []string{"rekey", "shadow"}},
		},
	}
}

const written = `PostgreSQL 15, shop

KEYS
  TABLE  KEY  TYPE     MADE BY  ROWS        GREATEST       USED   A DAY  DAYS LEFT          CREATED
  full   id   integer  nextval  12          2,083,059,138  97.0%  1000   177 years          made
  roomy  id   bigint   -        ~1,234,567  2,000,000      0.0%   12     over 1,000 years  -

TABLES WITHOUT A KEY THAT CAN BE MIGRATED
  TABLE      ROWS     WHY
  no�[31mkey  unknown  there is none

REFERENCES
  REFERENCE         TO       SURE      ORPHANS  WHY
  a.b:$.c           full.id  possible  -        by�name
  n.o where t is x�  full.id  likely    1,000    so

WHAT STANDS IN THE WAY, OR IS TO BE KNOWN
  TABLE  KIND     NAME  BLOCKS         WHAT IT DOES
  -      json     -     -              rounds
                                       → send texts
  full   trigger  t     rekey, shadow  fires
                                       → look
`

func TestWrite(t *testing.T) {
	var b strings.Builder
	if err := report().Write(&b); err != nil {
		t.Fatal(err)
	}
	// Spaces are the tab writer's affair.
	if got, want := lines(b.String()), lines(written); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), written)
	}
}

func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken")

func TestWriteFails(t *testing.T) {
	if err := report().Write(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the writer's error", err)
	}
}

func TestWriteNothing(t *testing.T) {
	r := mustInspect(t, openOn(t, "sqlite"), inspect.Options{})
	var b strings.Builder
	if err := r.Write(&b); err != nil || !strings.Contains(b.String(), "There are no tables.") {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

func TestJSON(t *testing.T) {
	db := openOn(t, "sqlite")
	empty, err := json.Marshal(mustInspect(t, db, inspect.Options{}))
	if err != nil || bytes.Contains(empty, []byte("null")) || !bytes.Contains(empty, []byte(`"tables":[],"references":[],"obstacles":[]`)) {
		t.Errorf("got %s, %v, want empty lists", empty, err)
	}
	makeShop(t, db)
	r := mustInspect(t, db, inspect.Options{})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back inspect.Report
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(&back, r) {
		t.Errorf("got %+v, %v, want %+v", &back, err, r)
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"order_item_id": "order item id", "orderItemID": "order item id", "OrderItemId": "order item id", "HTTPRequestID": "http request id", "id": "id", "": "", "_": "", "a b.c-d": "a b c d", "Ärzte_id": "ärzte id",
	} {
		if got := strings.Join(inspect.Words(name), " "); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestIDOf(t *testing.T) {
	for value, want := range map[string]int64{"7": 7, "-7": -7, `"7"`: 7, "7.00": 7, "1e+06": 1_000_000, "9223372036854775807": 1<<63 - 1} {
		if got, ok := inspect.IDOf(value); !ok || got != want {
			t.Errorf("%q: got %d, %t, want %d", value, got, ok, want)
		}
	}
	for _, value := range []string{"", "007", "+7", "7.5", "cus_1", "9223372036854775808", " 7", "1e300", "NaN"} {
		if got, ok := inspect.IDOf(value); ok {
			t.Errorf("%q: got %d, want none", value, got)
		}
	}
}

func TestGroup(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -999999: "-999,999", 1<<63 - 1: "9,223,372,036,854,775,807"} {
		if got := inspect.Group(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
