package main

import (
	"testing"
	"time"
)

func TestBarText(t *testing.T) {
	for _, tt := range []struct {
		left  time.Duration
		doing string
		most  int
		want  string
	}{
		{1400 * time.Millisecond, "verify uuidv7", 40, "1s left  verify uuidv7"},
		{126 * time.Second, "verify uuidv7", 40, "2m10s left  verify uuidv7"},
		{0, "verify uuidv7 on sqlite:a", 22, "0s left  verify uuidv…"},
		{0, "verify", 15, "0s left  verify"},
		{0, "verify", -3, "…"},
	} {
		if got := cut(describe(tt.left, tt.doing), tt.most); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
