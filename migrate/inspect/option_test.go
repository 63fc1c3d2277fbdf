package inspect_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

func TestWrongOptions(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, `CREATE TABLE a (id KEY!, code varchar(20), made TIME!)`, `CREATE TABLE b (id KEY!, a_id int, body JSON!, FOREIGN KEY (a_id) REFERENCES a (id))`, `CREATE TABLE c (a_id int)`, `CREATE VIEW v AS SELECT id FROM a`)
		for _, tt := range []struct {
			options inspect.Options
			is      error
			says    string
		}{
			{inspect.Options{Tables: []string{"a", "none"}}, inspect.ErrTable, "none"},
			{inspect.Options{Tables: []string{"v"}}, inspect.ErrTable, "v is a view"},
			{inspect.Options{Tables: []string{""}}, inspect.ErrOption, `""`},
			{inspect.Options{Tables: []string{"a.b.c"}}, inspect.ErrOption, "a.b.c"},
			{inspect.Options{Sample: -1}, inspect.ErrOption, "-1 values"},
			{inspect.Options{Sample: 100_001}, inspect.ErrOption, "100001 values"},
			{reference(""), inspect.ErrOption, "want"},
			{reference("b.a_id"), inspect.ErrOption, "there is no ="},
			{reference("a_id=a.id"), inspect.ErrOption, "not a table with a column"},
			{reference("b.a_id=a"), inspect.ErrOption, "not a table with a column"},
			{reference("b.a_id=a.id=c.id"), inspect.ErrOption, "follows it"},
			{reference(`b."a_id=a.id`), inspect.ErrOption, "not closed"},
			{reference("b.a_id=none.id"), inspect.ErrTable, "none"},
			{reference("v.id=a.id"), inspect.ErrTable, "v, in the reference \"v.id=a.id\", is a view"},
			{reference("b.other=a.id"), inspect.ErrOption, `b has no column "other"`},
			{reference("b.a_id=a.other"), inspect.ErrOption, `a has no column "other"`},
			{reference("b.a_id=a.code"), inspect.ErrOption, "the key of a is id, not code"},
			{reference("b.a_id=c.a_id"), inspect.ErrOption, "c has no key"},
			{reference("a.made=b.id"), inspect.ErrOption, "holds no ids"},
			{reference("b.a_id:$.x=a.id"), inspect.ErrOption, "holds no JSON"},
			{reference("b.body:x=a.id"), inspect.ErrOption, "the path has to be"},
			{reference("b.body:$.x[*]=a.id"), inspect.ErrOption, "the path has to be"},
			{reference("b.body:$=a.id"), inspect.ErrOption, "the path has to be"},
			{reference("!b.a_id=a.id"), inspect.ErrOption, "drop that first"},
		} {
			_, err := inspect.Read(t.Context(), db, tt.options)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v: got %v, want %q in an error that is %v", tt.options, err, tt.says, tt.is)
			}
		}
	})
}

func reference(text string) inspect.Options { return inspect.Options{References: []string{text}} }

func TestToldReferences(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, `CREATE TABLE a (id KEY!)`, `CREATE TABLE b (id KEY!, a_id int, x int, y varchar(30), body JSON!)`,
			`INSERT INTO a (id) VALUES (1), (2)`,
			`INSERT INTO b (id, a_id, x, y, body) VALUES (1, 1, 1, '1', '{"a=b": ["1", {"c d": "2"}]}'), (2, 7, 0, '9', '{"a=b": ["5"]}'), (3, 2, NULL, '02', NULL), (4, 1, 3, '', '{"a=b": {}}'), (5, 1, 2, '99999999999999999999', '[]')`)
		r := mustInspect(t, db, inspect.Options{References: []string{
			"!b.a_id=a.id", "b.x=a.id", "b.y=a.id", `b.body:$."a=b"[0]=a.id`, `b.body:$."a=b"[1]."c d"=a.id`,
		}})
		requireLines(t, references(r),
			"b.x > a.id given certain 1",
			"b.y > a.id given certain 3 text", // 9, 02 and what has no place in 64 bits
			`b.body:$."a=b"[0] > a.id given certain 1 text`,
			`b.body:$."a=b"[1]."c d" > a.id given certain 0 text`,
		)
	})
}

func TestNoDatabase(t *testing.T) {
	for _, db := range []*gorm.DB{nil, {}} {
		if _, err := inspect.Read(t.Context(), db, inspect.Options{}); !errors.Is(err, inspect.ErrOption) {
			t.Errorf("got %v, want an error of the option", err)
		}
	}
}

func TestCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, `CREATE TABLE a (id KEY!)`)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		steps := 0
		_, err := inspect.Read(ctx, db, inspect.Options{Progress: func(done, of int, doing string) {
			if steps++; done < 0 || done >= of || doing == "" {
				t.Errorf("got %d of %d, %q", done, of, doing)
			}
			cancel()
		}})
		if !errors.Is(err, context.Canceled) || steps == 0 {
			t.Errorf("got %v after %d steps, want that it was cancelled", err, steps)
		}
	})
}
