package sqltype_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

func TestParts(t *testing.T) {
	want := idgen.Parts{Time: time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC), Node: 7, Sequence: 3}
	key, err := idgen.Snowkey.Compose(want)
	if err != nil {
		t.Fatal(err)
	}
	id, typed := sqltype.ID(key), sqltype.Key[user](key)
	if id.Parts() != want || typed.Parts() != want || !id.Time().Equal(want.Time) || !typed.Time().Equal(want.Time) {
		t.Errorf("got %+v of %s, %+v of %s, want %+v", id.Parts(), id.Time(), typed.Parts(), typed.Time(), want)
	}
	if id = math.MaxInt64; id.Time() != idgen.Snowkey.ExhaustsAt().Add(-time.Millisecond) {
		t.Errorf("got %s of the greatest key, want the layout's last tick", id.Time())
	}
	for _, id := range []sqltype.ID{0, -1, math.MinInt64} { // no keys
		if id.Parts() != (idgen.Parts{}) || !id.Time().IsZero() {
			t.Errorf("%d: got %+v, %s, want nothing", id, id.Parts(), id.Time())
		}
	}
}

func TestShort(t *testing.T) {
	for text, id := range map[string]sqltype.ID{
		"0": 0, "1": 1, "Z": 31, "10": 32, "48M6WE000W01": 153833648947228673, "7ZZZZZZZZZZZZ": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		if got := id.Short(); got != text || sqltype.Key[user](id).Short() != text || sqltype.Number(id).Short() != text {
			t.Errorf("%d: got %s, want %s", id, got, text)
		}
		got, err := sqltype.ParseShortID(text)
		key, keyErr := sqltype.ParseShortKey[user](text)
		number, numberErr := sqltype.ParseShortNumber(text)
		if err := errors.Join(err, keyErr, numberErr); err != nil || got != id || sqltype.ID(key) != id || sqltype.ID(number) != id {
			t.Errorf("%s: got %d, %d, %d, %v, want %d", text, got, key, number, err, id)
		}
	}
	if id, err := sqltype.ParseShortID("00zoil"); err != nil || id != 31<<15+1<<5+1 {
		t.Errorf("got %d, %v, want what people mix up", id, err)
	}
	for text, want := range map[string]error{"": sqltype.ErrSyntax, "U": sqltype.ErrSyntax, "1-2": sqltype.ErrSyntax, "-007": sqltype.ErrSyntax, "8000000000000": sqltype.ErrRange} {
		if id, err := sqltype.ParseShortID(text); !errors.Is(err, want) || id != 0 {
			t.Errorf("%q: got %d, %v, want %v", text, id, err, want)
		}
	}
}
