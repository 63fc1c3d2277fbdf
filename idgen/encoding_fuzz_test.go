package idgen_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
)

// Whatever Parse reads, it gives the id whose text that is, but for zero digits in front and the characters read as others.
func FuzzEncodingParse(f *testing.F) {
	tested := testedEncodings(f)
	for i := range tested {
		for _, text := range []string{"", "0", "1", "10", "-1", "é", "\xff", "00000000000001", "oOiIlL", "fFzZ", "9223372036854775807", "9223372036854775808",
			"18446744073709551615", "7fffffffffffffff", "8000000000000000", "7ZZZZZZZZZZZZ", "8000000000000", "AzL8n0Y58m7", "AzL8n0Y58m8", "zzzzzzzzzzz", shuffled62} {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, index uint8, text string) {
		e := tested[int(index)%len(tested)]
		id, err := e.Parse(text)
		if err != nil {
			if id != 0 || !errors.Is(err, idgen.ErrSyntax) && !errors.Is(err, idgen.ErrRange) {
				t.Fatalf("%s, Parse(%q): got %d, %v", e.label, text, id, err)
			}
			return
		}
		again, err := e.Encode(id)
		if err != nil || id < 0 {
			t.Fatalf("%s, Parse(%q): got %d, whose Encode returns %v", e.label, text, id, err)
		}
		if back, err := e.Parse(again); err != nil || back != id {
			t.Fatalf("%s, Parse(%q): got %d, but Parse(%q) gives %d, %v", e.label, text, id, again, back, err)
		}
		canonical := text
		switch e.label {
		case "hex", "base36":
			canonical = strings.ToLower(text)
		case "base32":
			canonical = strings.NewReplacer("O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(text))
		}
		zero := e.alphabet[:1]
		if strings.TrimLeft(again, zero) != strings.TrimLeft(canonical, zero) {
			t.Fatalf("%s, Parse(%q): got %d, which is %q", e.label, text, id, again)
		}
	})
}

// Whatever alphabet NewEncoding accepts, ids come back through it, and no two share a text.
func FuzzNewEncoding(f *testing.F) {
	for _, alphabet := range []string{"", "0", "01", "00", "0 ", "é0", "\xff0", "0123456789", shuffled62, shuffled62 + "-_", shuffled62 + "-_!"} {
		f.Add(alphabet, int64(1541815603606036480), int64(0))
		f.Add(alphabet, int64(1<<63-1), int64(1))
		f.Add(alphabet, int64(-1), int64(-1))
	}
	f.Fuzz(func(t *testing.T, alphabet string, a, b int64) {
		e, err := idgen.NewEncoding(alphabet)
		if err != nil {
			if !errors.Is(err, idgen.ErrEncoding) || e != (idgen.Encoding{}) {
				t.Fatalf("NewEncoding(%q): got %v", alphabet, err)
			}
			return
		}
		texts := map[int64]string{}
		for _, id := range []int64{a, b} {
			text, err := e.Encode(id)
			if id < 0 {
				if !errors.Is(err, idgen.ErrRange) {
					t.Fatalf("alphabet %q, Encode(%d): got %q, %v, want ErrRange", alphabet, id, text, err)
				}
				continue
			}
			if err != nil || strings.Trim(text, alphabet) != "" || len(text) > 1 && text[0] == alphabet[0] {
				t.Fatalf("alphabet %q, Encode(%d): got %q, %v", alphabet, id, text, err)
			}
			if back, err := e.Parse(text); err != nil || back != id {
				t.Fatalf("alphabet %q, Parse(%q): got %d, %v, want %d", alphabet, text, back, err, id)
			}
			texts[id] = text
		}
		if a != b && len(texts) == 2 && texts[a] == texts[b] {
			t.Fatalf("alphabet %q: %d and %d are both %q", alphabet, a, b, texts[a])
		}
	})
}
