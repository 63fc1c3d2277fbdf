package main

import (
	"runtime/debug"
	"strings"
)

// version returns the version of the module as the go command has stamped it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

// commitOf returns the commit that a command was built of, for its version. Where go build has stamped none, as go install of a version and go run, it is
// empty.
func commitOf(info *debug.BuildInfo, known bool) string {
	if !known {
		return ""
	}
	stamped := map[string]string{}
	for _, s := range info.Settings {
		stamped[s.Key] = s.Value
	}
	if stamped["vcs.revision"] == "" {
		return ""
	}
	commit := []string{"commit " + stamped["vcs.revision"], stamped["vcs.time"]}
	if stamped["vcs.modified"] == "true" {
		commit = append(commit, "modified")
	}
	return " (" + strings.Join(commit, ", ") + ")"
}
