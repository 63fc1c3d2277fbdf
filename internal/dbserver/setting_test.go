package dbserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		kind     string
		settings []string
	}{
		"private:mysql":                                     {"mysql", nil},
		"private:mariadb":                                   {"mysql", nil},
		"private:postgres":                                  {"postgres", nil},
		"private:postgresql":                                {"postgres", nil},
		"private:mysql?innodb_buffer_pool_size=32M":         {"mysql", []string{"--innodb_buffer_pool_size=32M"}},
		"private:mariadb?innodb-buffer-pool-size=8M&flush=": {"mysql", []string{"--innodb-buffer-pool-size=8M", "--flush="}},
		"private:mysql?sql_mode=ANSI%26x%25+y=z":            {"mysql", []string{"--sql_mode=ANSI&x%+y=z"}},
		"private:postgres?shared_buffers=32MB&my.x=a b":     {"postgres", []string{"shared_buffers=32MB", "my.x=a b"}},
	} {
		kind, settings, err := dbserver.Parse(text)
		if err != nil || kind != want.kind || !slices.Equal(settings, want.settings) {
			t.Errorf("%s: got %s %q and error %v, want %s %q", text, kind, settings, err, want.kind, want.settings)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "no private server",
		"mysql:root@/":                        "no private server",
		"private:":                            "does not say which",
		"private:?a=b":                        "does not say which",
		"private:oracle":                      `unknown private server "oracle"`,
		"private:MySQL":                       "private:mysql",
		"private:mysql?":                      "has no value",
		"private:mysql?a=b&":                  "has no value",
		"private:mysql?skip-log-bin":          "has no value",
		"private:mysql?=1":                    "has no name",
		"private:mysql?--a=1":                 "has no name",
		"private:postgres?a b=1":              "has no name",
		"private:mysql?a=%zz":                 "%25 is a percent sign",
		"private:mysql?a=%00":                 "zero byte",
		"private:mysql?pid_file=/x":           "keeps the server private",
		"private:mysql?skip-networking=0":     "keeps the server private",
		"private:postgres?Listen_Addresses=*": "keeps the server private",
	} {
		kind, settings, err := dbserver.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || kind != "" || settings != nil {
			t.Errorf("%s: got %s %q and error %v, want an error with %q", text, kind, settings, err, want)
		}
	}
}

// TestParsedStarts starts servers with settings as a command line has them.
func TestParsedStarts(t *testing.T) {
	t.Parallel()
	for text, ask := range map[string]string{
		"private:mariadb?innodb_print_all_deadlocks=ON":         kinds[0].setting,
		"private:postgres?log_lock_waits=on&shared_buffers=8MB": kinds[1].setting,
	} {
		kind, settings, err := dbserver.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := query(t.Context(), database(t, start(t, kind, settings...)).Open(t), ask); err != nil || got != "on" {
			t.Errorf("%s: got %q and error %v, want on", text, got, err)
		}
	}
}
