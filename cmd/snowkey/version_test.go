package main

import (
	"runtime/debug"
	"testing"
)

func TestCommit(t *testing.T) {
	for modified, want := range map[string]string{
		"false": " (commit 7f8fc6d, 2026-11-25T22:27:00Z)",
		"true":  " (commit 7f8fc6d, 2026-11-25T22:27:00Z, modified)",
	} {
		info := &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "linux"}, {Key: "vcs.revision", Value: "7f8fc6d"}, {Key: "vcs.time", Value: "2026-11-25T22:27:00Z"}, {Key: "vcs.modified", Value: modified},
		}}
		if got := commitOf(info, true); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := commitOf(&debug.BuildInfo{}, true) + commitOf(nil, false); got != "" {
		t.Errorf("got %q where none is stamped", got)
	}
}
