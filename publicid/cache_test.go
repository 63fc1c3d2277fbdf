package publicid

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Prefixes that come from outside do not grow the memory of a codec, and are read all the same.
func TestCacheIsBounded(t *testing.T) {
	keys, err := ParseKeys(NewKey(1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(keys)
	if err != nil {
		t.Fatal(err)
	}
	const goroutines = 4
	var running sync.WaitGroup
	for range goroutines { // all take the same prefixes
		running.Go(func() {
			for i := range int64(3 * maxCached) {
				prefix := fmt.Sprintf("p%d", i)
				text, err := c.Encode(prefix, i)
				if err != nil || !strings.HasPrefix(text, prefix+"_") {
					t.Errorf("got %s, %v", text, err)
				}
				if id, err := c.Decode(prefix, text); err != nil || id != i {
					t.Errorf("%s: got %d, %v", text, id, err)
				}
				if _, err := c.EncodeUUID(prefix, [16]byte{1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	kept := 0
	c.ciphers.Range(func(any, any) bool { kept++; return true })
	if kept < maxCached || kept > maxCached+goroutines {
		t.Errorf("got %d ciphers kept, want %d and at most one more a goroutine", kept, maxCached)
	}
}

func BenchmarkUncached(b *testing.B) {
	keys, err := ParseKeys(NewKey(1))
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(keys)
	if err != nil {
		b.Fatal(err)
	}
	c.cached.Store(maxCached)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Encode("ord", 1)
	}
}
