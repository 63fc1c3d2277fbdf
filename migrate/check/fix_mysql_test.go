package check_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate/check"
)

// notOffered is a database where no statement is certain to change nothing but what a finding says, or to run.
type notOffered struct {
	name   string
	setup  []string
	tables []string // or the models Counted and Counting
	want   []string // findings
	says   []string // what the text of the first has in it
}

// Counted and Counting are models of tables whose columns are of any type.
type (
	Counted  struct{ ID int64 }
	Counting struct {
		ID        int64
		CountedID int64
		Counted   Counted
	}
)

func (Counted) TableName() string  { return "counted" }
func (Counting) TableName() string { return "counting" }

func checkCounted(t *testing.T, db *gorm.DB) []check.Finding {
	t.Helper()
	findings, err := check.Models(t.Context(), db, gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.AllKeys()), &Counted{}, &Counting{})
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func testNotOffered(t *testing.T, kind string, cases []notOffered) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, kind)
			mustRun(t, db, tt.setup...)
			var findings []check.Finding
			if tt.tables != nil {
				findings = checkTables(t, db, tt.tables...)
			} else {
				findings = checkCounted(t, db)
			}
			requireFindings(t, findings, tt.want...)
			for _, want := range tt.says {
				if !strings.Contains(findings[0].Text, want) {
					t.Errorf("got %q, want %q in it", findings[0].Text, want)
				}
			}
		})
	}
}

// What MODIFY would do to values of another type is in the names: '100' of an enum becomes 1, 2.6 becomes 3.
func TestOffersNothingForOtherTypesOnMySQL(t *testing.T) {
	var cases []notOffered
	for _, typ := range []string{
		"enum('100','200')", "set('100','200')", "decimal(10,2)", "decimal(19,0)", "double", "float", "datetime(6) DEFAULT current_timestamp(6)", "year", "bit(64)", "binary(16)", "uuid",
		"varchar(30) NOT NULL DEFAULT ''", "char(20)",
	} {
		cases = append(cases, notOffered{
			name: typ, setup: []string{
				"CREATE TABLE counted (id " + typ + " PRIMARY KEY)", "CREATE TABLE counting (id bigint PRIMARY KEY, counted_id " + typ + ")",
			},
			want: []string{"counted.id wrong-type", "counting.counted_id narrow-reference"}, says: []string{"no statement is offered", "make a bigint column beside it"},
		})
	}
	cases[3].want = nil // 19 digits hold every key
	cases[3].says = nil
	cases[12].want = cases[12].want[:1]
	cases[11].want = cases[11].want[:1]
	cases = append(cases, notOffered{
		name: "tied by foreign keys", setup: []string{
			"CREATE TABLE counted (id varchar(9) PRIMARY KEY)", "CREATE TABLE counting (id bigint PRIMARY KEY, counted_id varchar(9), FOREIGN KEY (counted_id) REFERENCES counted (id))",
		},
		want: []string{"counted.id wrong-type", "counting.counted_id narrow-reference"}, says: []string{"no statement is offered"},
	})
	testNotOffered(t, dsn.MySQL, cases)
}

func TestOffersNothingOnMySQL(t *testing.T) {
	const parent, child = "CREATE TABLE p (id int PRIMARY KEY)", "CREATE TABLE c (pid int, CONSTRAINT fk FOREIGN KEY (pid) REFERENCES p (id))"
	testNotOffered(t, dsn.MySQL, []notOffered{
		{
			name: "system versioning", tables: []string{"p"},
			setup: []string{"CREATE TABLE p (id int AUTO_INCREMENT PRIMARY KEY) WITH SYSTEM VERSIONING"},
			want:  []string{"p.id narrow-key", "p.id auto-increment"}, says: []string{"system versioning", "4119"},
		},
		{
			name: "a parent with system versioning", tables: []string{"p"}, setup: []string{parent + " WITH SYSTEM VERSIONING", child},
			want: []string{"p.id narrow-key", "c.pid narrow-reference"}, says: []string{"system versioning"},
		},
		{
			name: "a child with system versioning", tables: []string{"p"}, setup: []string{parent, child + " WITH SYSTEM VERSIONING"},
			want: []string{"p.id narrow-key", "c.pid narrow-reference"}, says: []string{"ties it to pid of c", "system versioning"},
		},
		{
			name: "no primary key, and system versioning", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id bigint) WITH SYSTEM VERSIONING"},
			want: []string{"p.id no-primary-key"}, says: []string{"system versioning"},
		},
		{
			name: "orphans", tables: []string{"p"},
			setup: []string{parent, child, "SET foreign_key_checks = 0", "INSERT INTO c VALUES (NULL), (7)", "SET foreign_key_checks = 1"},
			want:  []string{"p.id narrow-key", "c.pid narrow-reference"}, says: []string{"foreign key fk of c", "whose pid is in no row of p"},
		},
		{
			name: "a CHECK that rows fail", tables: []string{"p"},
			setup: []string{"CREATE TABLE p (id int PRIMARY KEY, n int CHECK (n > 0))", child, "SET check_constraint_checks = 0", "INSERT INTO p VALUES (1, -1)", "SET check_constraint_checks = 1"},
			want:  []string{"p.id narrow-key", "c.pid narrow-reference"}, says: []string{"CHECKs"},
		},
		{
			name: "a date of zeros as default", tables: []string{"p"},
			setup: []string{"SET sql_mode = ''", "CREATE TABLE p (id int PRIMARY KEY, at datetime NOT NULL DEFAULT '0000-00-00')", child},
			want:  []string{"p.id narrow-key", "c.pid narrow-reference"}, says: []string{"the default of at"},
		},
		{
			name: "dates of zeros", tables: []string{"p"},
			setup: []string{"SET sql_mode = ''", parent, "CREATE TABLE c (pid int, at date, stamp timestamp NULL, FOREIGN KEY (pid) REFERENCES p (id))", "INSERT INTO c VALUES (NULL, '2026-00-01', now())"},
			want:  []string{"p.id narrow-key", "c.pid narrow-reference"}, says: []string{"pid of c", "dates with a zero"},
		},
		{
			name: "a sequence and more", tables: []string{"p"},
			setup: []string{"CREATE SEQUENCE s", "CREATE TABLE p (id bigint NOT NULL DEFAULT (nextval(s) * 10) PRIMARY KEY)"},
			want:  []string{"p.id auto-increment"}, says: []string{"no statement is offered"},
		},
		{
			name: "more and a sequence", tables: []string{"p"},
			setup: []string{"CREATE SEQUENCE s", "CREATE TABLE p (id bigint NOT NULL DEFAULT (10 + nextval(s)) PRIMARY KEY)"},
			want:  []string{"p.id auto-increment"}, says: []string{"no statement is offered"},
		},
		{
			name: "two sequences", tables: []string{"p"},
			setup: []string{"CREATE SEQUENCE s", "CREATE TABLE p (id bigint NOT NULL DEFAULT (nextval(s) + nextval(s)) PRIMARY KEY)"},
			want:  []string{"p.id auto-increment"}, says: []string{"no statement is offered"},
		},
		{
			name: "zerofill", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id int(5) unsigned zerofill AUTO_INCREMENT PRIMARY KEY)"},
			want: []string{"p.id narrow-key", "p.id auto-increment"}, says: []string{"ZEROFILL"},
		},
		{
			name: "invisible", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id int INVISIBLE AUTO_INCREMENT PRIMARY KEY, x int)"},
			want: []string{"p.id narrow-key", "p.id auto-increment"}, says: []string{"SHOW CREATE TABLE"},
		},
		{
			name: "a comment with a backslash", tables: []string{"p"},
			setup: []string{"SET sql_mode = 'NO_BACKSLASH_ESCAPES'", `CREATE TABLE p (id int PRIMARY KEY COMMENT 'C:\temp')`},
			want:  []string{"p.id narrow-key"}, says: []string{"plain comment"},
		},
		{
			name: "a CHECK", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id int NOT NULL CHECK (id <> 'a'), PRIMARY KEY (id))"},
			want: []string{"p.id narrow-key"}, says: []string{"no statement is offered"},
		},
		{
			name: "a CHECK with lines", tables: []string{"p"}, setup: []string{"CREATE TABLE p (s text CHECK (s <> 'a\n  `id` int(11) NOT NULL'), id int INVISIBLE AUTO_INCREMENT PRIMARY KEY)"},
			want: []string{"p.id narrow-key", "p.id auto-increment"}, says: []string{"no statement is offered"},
		},
		{
			name: "a generated column", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id int PRIMARY KEY, twice int AS (id * 2) STORED)"},
			want: []string{"p.id narrow-key"}, says: []string{"a generated column"},
		},
		{
			name: "partitions", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id int PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2"},
			want: []string{"p.id narrow-key"}, says: []string{"partitions"},
		},
		{
			name: "NULL as a key", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id int)", "INSERT INTO p VALUES (NULL)"},
			want: []string{"p.id no-primary-key", "p.id narrow-key"}, says: []string{"rows have NULL there"},
		},
		{
			name: "a foreign key as a key", tables: []string{"p"},
			setup: []string{"CREATE TABLE g (id int PRIMARY KEY)", "CREATE TABLE p (id int, KEY (id))", "CREATE TABLE c (pid int, FOREIGN KEY (pid) REFERENCES p (id) ON DELETE SET NULL)"},
			want:  []string{"p.id no-primary-key*", "p.id narrow-key", "c.pid narrow-reference"},
		},
		{
			name: "sql_mode that shows less", tables: []string{"p"}, setup: []string{"CREATE TABLE p (id int AUTO_INCREMENT PRIMARY KEY)", "SET sql_mode = 'NO_FIELD_OPTIONS'"},
			want: []string{"p.id narrow-key", "p.id auto-increment"}, says: []string{"SHOW CREATE TABLE"},
		},
	})
}

// mustMend runs what is offered, for all findings and twice, since findings that are mended together have the same.
func mustMend(t *testing.T, db *gorm.DB, findings []check.Finding) {
	t.Helper()
	for _, f := range findings {
		mustRun(t, db, f.Fix...)
	}
}

// What looks like a default or AUTO_INCREMENT in a comment is none.
func TestKeepsComments(t *testing.T) {
	db := openOn(t, dsn.MySQL)
	const comment = "was DEFAULT nextval(s) once AUTO_INCREMENT, DEFAULT NULL"
	mustRun(t, db, "CREATE TABLE p (id int NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT '"+comment+"')", "CREATE TABLE q (id int PRIMARY KEY COMMENT 'AUTO_INCREMENT')")
	findings := checkTables(t, db, "p", "q")
	requireFindings(t, findings, "p.id narrow-key*", "p.id auto-increment*", "q.id narrow-key*")
	mustMend(t, db, findings)
	var got string
	if err := db.Raw("SELECT GROUP_CONCAT(COLUMN_COMMENT ORDER BY TABLE_NAME) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()").Scan(&got).Error; err != nil || got != comment+",AUTO_INCREMENT" {
		t.Errorf("got %q, %v, want it as it was", got, err)
	}
}

// A width that is shown, a sequence's default and a JSON column are no obstacles; and the index of a foreign key, which gets its name, is said.
func TestFixesBesides(t *testing.T) {
	db := openOn(t, dsn.MySQL)
	mustRun(t, db, "CREATE SEQUENCE s", "CREATE TABLE p (id int(5) unsigned NOT NULL DEFAULT nextval(s) PRIMARY KEY, more json, at datetime)",
		"CREATE TABLE c (id bigint(9) unsigned zerofill AUTO_INCREMENT PRIMARY KEY, pid int unsigned, FOREIGN KEY (pid) REFERENCES p (id))",
		"INSERT INTO p (more, at) VALUES ('{}', now())", "INSERT INTO c (pid) VALUES (1), (NULL)")
	findings := checkTables(t, db, "p", "c")
	requireFindings(t, findings, "p.id narrow-key*", "p.id auto-increment*", "c.id auto-increment", "c.pid narrow-reference*")
	if !strings.Contains(findings[0].Text, "(c_ibfk_1 of c), each with its index") {
		t.Errorf("got %q, want the foreign key and its index in it", findings[0].Text)
	}
	mustMend(t, db, findings)
	requireFindings(t, checkTables(t, db, "p", "c"), "c.id auto-increment")
	mustRun(t, db, "INSERT INTO p (id) VALUES (@)", "INSERT INTO c (pid) SELECT MAX(id) FROM p")
}

// Who cannot read the rows of a child is offered nothing, for it is not known whether its foreign key can be made again.
func TestOfRowsThatCannotBeRead(t *testing.T) {
	database := dbtest.MySQL(t)
	db := openDatabase(t, database.DSN)
	mustRun(t, db, "CREATE TABLE p (id int PRIMARY KEY)", "CREATE TABLE c (pid int, CONSTRAINT fk FOREIGN KEY (pid) REFERENCES p (id))", "CREATE TABLE q (id int)")
	user := "u" + snowflake(t)
	mustRun(t, db, "CREATE USER "+user, "GRANT SELECT ON p TO "+user, "GRANT INSERT ON c TO "+user, "GRANT INSERT ON q TO "+user)
	t.Cleanup(func() { mustRun(t, db, "DROP USER "+user) })
	limited := openDatabase(t, "mysql:"+user+database.DSN[strings.Index(database.DSN, "@"):])
	check := func() []check.Finding {
		t.Helper()
		findings, err := check.Tables(t.Context(), limited, idgen.Layout{}, "p", "q")
		if err != nil {
			t.Fatal(err)
		}
		return findings
	}
	want := []string{"p.id narrow-key", "q.id no-primary-key", "q.id narrow-key", "c.pid narrow-reference"}
	findings := check()
	requireFindings(t, findings, want...)
	if !strings.Contains(findings[0].Text, "has no right to see") || !strings.Contains(findings[1].Text, "not known whether rows have NULL") {
		t.Errorf("got %v, want the reasons", findings)
	}
	mustRun(t, db, "GRANT INSERT, ALTER, REFERENCES ON * TO "+user)
	findings = check()
	requireFindings(t, findings, want...)
	if !strings.Contains(findings[0].Text, "SELECT command denied") {
		t.Errorf("got %q, want the reason", findings[0].Text)
	}
}
