package sqltype_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/sqltype"
)

func TestGraphQL(t *testing.T) {
	testGraphQL[sqltype.ID](t)
	testGraphQL[sqltype.Key[user]](t)
}

func testGraphQL[K interface {
	~int64
	MarshalGQL(io.Writer)
}, P interface {
	*K
	UnmarshalGQL(any) error
}](t *testing.T) {
	var out strings.Builder
	K(big).MarshalGQL(&out)
	if want := `"1541815603606036481"`; out.String() != want {
		t.Errorf("got %s, want %s", &out, want)
	}
	for _, in := range []any{"1541815603606036481", json.Number("1541815603606036481"), int(big), int64(big), uint64(big)} {
		k := K(7)
		if err := P(&k).UnmarshalGQL(in); err != nil || k != big {
			t.Errorf("%T %v: got %d, %v", in, in, k, err)
		}
	}
	for _, tt := range []struct {
		in   any
		want error
	}{
		{nil, sqltype.ErrNull}, {"007", sqltype.ErrSyntax}, {json.Number("1e3"), sqltype.ErrSyntax}, {uint64(math.MaxUint64), sqltype.ErrRange},
		{float64(big), sqltype.ErrSyntax}, {true, sqltype.ErrSyntax}, {[]byte("1"), sqltype.ErrSyntax},
	} {
		k := K(7)
		if err := P(&k).UnmarshalGQL(tt.in); !errors.Is(err, tt.want) || k != 7 {
			t.Errorf("%T %v: got %d, %v, want %v and nothing changed", tt.in, tt.in, k, err, tt.want)
		}
	}
}
