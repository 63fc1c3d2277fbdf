package shard_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard"
)

// TestRecipe runs the SQL functions of the package's documentation, and compares their sums with those of the vectors.
func TestRecipe(t *testing.T) {
	for name, engine := range map[string]struct {
		make  func(testing.TB) dbtest.Database
		title string
		ask   string
	}{
		"postgres": {dbtest.Postgres, "In PostgreSQL", "SELECT snowkey_mix($1)::text"},
		"mysql":    {dbtest.MySQL, "In MySQL and MariaDB", "SELECT CAST(CAST(snowkey_mix(?) AS SIGNED) AS CHAR)"},
	} {
		t.Run(name, func(t *testing.T) {
			db := engine.make(t).Open(t)
			for _, statement := range recipe(t, engine.title) {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%v in\n%s", err, statement)
				}
			}
			keys := integers(t)
			if len(keys) < 40 {
				t.Errorf("%d integers in the vectors, want 40", len(keys))
			}
			for _, key := range keys {
				var text string
				if err := db.QueryRowContext(t.Context(), engine.ask, key).Scan(&text); err != nil {
					t.Fatal(err)
				}
				if want := strconv.FormatInt(int64(shard.Mix(uint64(key))), 10); text != want {
					t.Errorf("the sum of %d is %s, want %s", key, text, want)
				}
			}
		})
	}
}

// recipe returns the statements below a line of doc.go that begins with a title.
func recipe(t *testing.T, title string) (statements []string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "// "+title)
	if !found {
		t.Fatalf("doc.go has no line that begins with %q", title)
	}
	_, after, _ = strings.Cut(after, "//\n")
	for _, line := range strings.Split(after, "\n") {
		code, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		if strings.HasPrefix(code, "CREATE ") {
			statements = append(statements, "")
		}
		statements[len(statements)-1] += code + "\n"
	}
	return statements
}

// integers returns the integer keys of the vectors, and the ends of their range.
func integers(t *testing.T) []int64 {
	t.Helper()
	file, err := os.Open("testdata/sums.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var keys []int64
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) == 4 && words[0] == "int" {
			key, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return keys
}
