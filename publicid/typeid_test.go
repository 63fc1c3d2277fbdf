package publicid_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/publicid"
	"github.com/snowkey-go/snowkey/sqltype"
)

// The vectors of github.com/jetify-com/typeid, spec/valid.yml and spec/invalid.yml, for version 0.3.0.
func TestTypeID(t *testing.T) {
	for text, want := range map[string][2]string{
		"00000000000000000000000000":         {"", "00000000-0000-0000-0000-000000000000"},
		"00000000000000000000000001":         {"", "00000000-0000-0000-0000-000000000001"},
		"0000000000000000000000000a":         {"", "00000000-0000-0000-0000-00000000000a"},
		"0000000000000000000000000g":         {"", "00000000-0000-0000-0000-000000000010"},
		"00000000000000000000000010":         {"", "00000000-0000-0000-0000-000000000020"},
		"7zzzzzzzzzzzzzzzzzzzzzzzzz":         {"", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		"prefix_0123456789abcdefghjkmnpqrs":  {"prefix", "0110c853-1d09-52d8-d73e-1194e95b5f19"},
		"prefix_01h455vb4pex5vsknk084sn02q":  {"prefix", "01890a5d-ac96-774b-bcce-b302099a8057"},
		"pre_fix_00000000000000000000000000": {"pre_fix", "00000000-0000-0000-0000-000000000000"},
	} {
		prefix, id, err := publicid.ParseTypeID(text)
		if err != nil || prefix != want[0] || sqltype.UUID(id).String() != want[1] {
			t.Errorf("%s: got %s, %s, %v, want %s", text, prefix, sqltype.UUID(id), err, want)
		}
		if again, err := publicid.TypeID(prefix, id); err != nil || again != text {
			t.Errorf("got %s, %v back, want %s", again, err, text)
		}
	}
	for _, text := range []string{
		"PREFIX_00000000000000000000000000", "12345_00000000000000000000000000", "pre.fix_00000000000000000000000000", "préfix_00000000000000000000000000",
		"  prefix_00000000000000000000000000", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl_00000000000000000000000000", "_00000000000000000000000000", "_",
		"prefix_1234567890123456789012345", "prefix_123456789012345678901234567", "prefix_1234567890123456789012345 ", "prefix_0123456789ABCDEFGHJKMNPQRS",
		"prefix_123456789-123456789-123456", "prefix_ooooooiiiiiiuuuuuuulllllll", "prefix_i23456789ol23456789oi23456", "prefix_123456789-0123456789-0123456",
		"prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz", "_prefix_00000000000000000000000000", "prefix__00000000000000000000000000", "", strings.Repeat("a", 1000),
	} {
		if _, id, err := publicid.ParseTypeID(text); !errors.Is(err, publicid.ErrPrefix) && !errors.Is(err, publicid.ErrSyntax) || len(err.Error()) > 300 {
			t.Errorf("%q: got %x, %v", text, id, err)
		}
	}
	for _, prefix := range []string{"_a", "a_", "A", "a1", "é", strings.Repeat("a", 64)} {
		if text, err := publicid.TypeID(prefix, [16]byte{}); !errors.Is(err, publicid.ErrPrefix) {
			t.Errorf("%q: got %s, %v", prefix, text, err)
		}
	}
}

// TypeIDs stand where a codec with a secret does, for UUIDs of a prefix alone.
func TestTypeIDs(t *testing.T) {
	const text = "user_01h455vb4pex5vsknk084sn02q"
	var c publicid.TypeIDs
	id, err := c.DecodeUUID("user", text, 4, 7)
	if again, err2 := c.EncodeUUID("user", id); err != nil || err2 != nil || again != text {
		t.Errorf("got %x, %v, and %s, %v back", id, err, again, err2)
	}
	_, numberErr := c.Encode("user", 1)
	_, digitsErr := c.Decode("user", "user_JYZTXD6H1EXM9")
	_, emptyErr := c.EncodeUUID("", id)
	for name, got := range map[string]struct{ err, want error }{
		"number": {numberErr, publicid.ErrKeys}, "13 digits": {digitsErr, publicid.ErrKeys}, "no prefix": {emptyErr, publicid.ErrPrefix},
	} {
		if !errors.Is(got.err, got.want) {
			t.Errorf("%s: got %v, want %v", name, got.err, got.want)
		}
	}
	for _, tt := range []struct {
		prefix, text string
		versions     []int
		want         error
	}{
		{"ord", text, nil, publicid.ErrPrefix}, {"", text, nil, publicid.ErrPrefix}, {"", text[5:], nil, publicid.ErrPrefix}, {"user", text[:30], nil, publicid.ErrSyntax},
		{"user", text, []int{4}, publicid.ErrForged},
	} {
		if id, err := c.DecodeUUID(tt.prefix, tt.text, tt.versions...); !errors.Is(err, tt.want) || id != [16]byte{} {
			t.Errorf("%q, %q, %d: got %x, %v, want %v", tt.prefix, tt.text, tt.versions, id, err, tt.want)
		}
	}
}
