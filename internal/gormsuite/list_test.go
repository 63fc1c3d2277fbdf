//go:build unix

package gormsuite

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	got, err := parseList("# comment\n\nTestA sqlite,mysql keys\n\tOne line\n\tand another.\nTestB/sub all all chance\n\tWhy.\n")
	want := []entry{
		{test: "TestA", databases: []string{"sqlite", "mysql"}, modes: []string{"keys"}, reason: "One line and another."},
		{test: "TestB/sub", databases: databases, modes: modes, mark: chance, reason: "Why."},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

func TestParseListErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no reason":                {"TestA all all\nTestB all all\n\tWhy.\n", "TestA has no reason"},
		"a reason of nothing":      {"\tWhy.\n", "line 1: a reason without a test"},
		"another database":         {"TestA sqlite,oracle all\n\tWhy.\n", `line 1: "oracle" is none of sqlite, mysql, postgres`},
		"another mode":             {"TestA all none\n\tWhy.\n", `line 1: "none" is none of keys, prepare`},
		"another word":             {"TestA all all always\n\tWhy.\n", "line 1: want TEST DATABASES MODES [chance|skip]"},
		"a subtest to skip":        {"TestA/b all all skip\n\tWhy.\n", "line 1: TestA/b is a subtest"},
		"one word":                 {"TestA\n\tWhy.\n", "line 1: want TEST DATABASES MODES [chance|skip]"},
		"twice on one of the runs": {"TestA sqlite,mysql all\n\tWhy.\nTestA mysql prepare\n\tWhy.\n", "TestA on mysql with prepare is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseList(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q", err, c.want)
			}
		})
	}
}

// TestExpected reads the list that is there.
func TestExpected(t *testing.T) {
	list, err := parseList(expectedFile)
	if err != nil || len(list) == 0 {
		t.Errorf("got %d entries and %v, want some", len(list), err)
	}
}

func TestSkipPattern(t *testing.T) {
	list, err := parseList("TestA mysql keys skip\n\tWhy.\nTestB all all\n\tWhy.\nTestC sqlite,mysql keys skip\n\tWhy.\n")
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range map[[2]string]string{{"mysql", "keys"}: "^TestA$|^TestC$", {"sqlite", "keys"}: "^TestC$", {"mysql", "prepare"}: ""} {
		if got := skipPattern(list, run[0], run[1]); got != want {
			t.Errorf("%v: got %q, want %q", run, got, want)
		}
	}
}
