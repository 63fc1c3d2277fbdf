package inspect_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

func TestObstaclesOfPostgres(t *testing.T) {
	t.Parallel()
	db := openOn(t, "postgres")
	run(t, db, "CREATE TABLE p (id bigserial PRIMARY KEY, n int)", "CREATE TABLE c (id bigserial PRIMARY KEY, p_id int REFERENCES p (id), m int)", "CREATE TABLE logs (id bigserial PRIMARY KEY, p_id int)")
	for _, tt := range []struct {
		name  string
		setup []string
		want  []string
	}{
		{"a view", []string{"CREATE VIEW v AS SELECT id FROM p"}, []string{"view:p.public.v"}},
		{"a view of other columns", []string{"CREATE VIEW v AS SELECT n FROM p"}, nil},
		{"a view of a view", []string{"CREATE VIEW v AS SELECT id FROM p", "CREATE VIEW w AS SELECT id FROM v"}, []string{"view:p.public.v", "view:p.public.w"}},
		{"a materialized view", []string{"CREATE MATERIALIZED VIEW v AS SELECT id FROM p"}, []string{"materialized view:p.public.v shadow"}},
		{"a rule", []string{"CREATE RULE r AS ON DELETE TO p DO ALSO DELETE FROM c WHERE p_id = old.id"}, []string{"rule:c.public.r widen,rekey,shadow", "rule:p.public.r shadow"}},
		{"a policy", []string{"CREATE POLICY y ON p USING (id > 5)"}, []string{"policy:p.public.y shadow"}},
		{"a trigger", []string{"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'", "CREATE TRIGGER t AFTER UPDATE ON p FOR EACH ROW EXECUTE FUNCTION f()"}, nil},
		{"a trigger that fires always", []string{"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'", "CREATE TRIGGER t AFTER UPDATE ON p FOR EACH ROW EXECUTE FUNCTION f()", "ALTER TABLE p ENABLE ALWAYS TRIGGER t"}, []string{"trigger:p.t rekey,shadow"}},
		{
			"a trigger of the column", []string{"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'", "CREATE TRIGGER t AFTER UPDATE OF p_id ON c FOR EACH ROW EXECUTE FUNCTION f()"},
			[]string{"trigger:c.t widen,rekey,shadow"},
		},
		{"GENERATED ALWAYS", []string{"ALTER TABLE p ALTER id DROP DEFAULT", "ALTER TABLE p ALTER id ADD GENERATED ALWAYS AS IDENTITY"}, []string{"identity:p.id"}},
		{"a publication", []string{"CREATE PUBLICATION b FOR TABLE p"}, []string{"publication:p.b"}},
		{"no replica identity", []string{"CREATE PUBLICATION b FOR TABLE p", "ALTER TABLE p REPLICA IDENTITY NOTHING"}, []string{"publication:p.b", "replica identity:p.p rekey,shadow"}},
		{"a generated column", []string{"ALTER TABLE p ADD g int GENERATED ALWAYS AS (id + 1) STORED"}, []string{"generated:p.g rekey,shadow"}},
		{"a check", []string{"ALTER TABLE p ADD CONSTRAINT k CHECK (id < 1000)"}, []string{"check:p.k widen,rekey,shadow"}},
		{"a check that all ids pass", []string{"ALTER TABLE p ADD CONSTRAINT k CHECK (id > 0)"}, []string{"check:p.k"}},
		{"a domain", []string{"CREATE DOMAIN d AS int", "ALTER TABLE c ALTER p_id TYPE d"}, []string{"domain:c.p_id widen,rekey,shadow"}},
		{"a materialized view of a narrow column", []string{"CREATE MATERIALIZED VIEW v AS SELECT p_id FROM c"}, []string{"materialized view:c.public.v widen,rekey,shadow"}},
		{"a function of rows", []string{"CREATE FUNCTION f() RETURNS SETOF c LANGUAGE sql AS 'SELECT * FROM c'"}, nil},
		{"a row type", []string{"CREATE TABLE holds (x p)"}, []string{"no key:holds", "type:p.column x of table holds shadow"}},
		{"a routine", []string{"CREATE FUNCTION f(i int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM p WHERE id = i'"}, []string{"routine:f widen,rekey,shadow"}},
		{
			"a keyword that is a table", []string{"CREATE TABLE language (id bigserial PRIMARY KEY)", "CREATE FUNCTION f(p_id int) RETURNS int LANGUAGE plpgsql AS 'DECLARE language text; BEGIN RETURN p_id; END'"}, nil,
		},
		{"a view of narrow ids", []string{"CREATE VIEW v AS SELECT id::int AS short FROM p"}, []string{"view:p.public.v widen,rekey,shadow"}},
		{"an array", []string{"ALTER TABLE c ADD p_ids int[]"}, []string{"list:c.p_ids rekey,shadow"}},
		{"a sequence of its own", []string{"CREATE SEQUENCE s", "ALTER TABLE p ALTER id SET DEFAULT nextval('s')", "ALTER SEQUENCE p_id_seq OWNED BY NONE"}, []string{"sequence:p.public.s"}},
		{"partitions by the key", []string{"CREATE TABLE q (id int PRIMARY KEY) PARTITION BY RANGE (id)", "CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (10)"}, []string{"partition:q.q widen,rekey,shadow"}},
		{"another schema", []string{"CREATE SCHEMA other", "CREATE TABLE other.o (p_id int REFERENCES p (id))"}, []string{"schema:other.o.p"}},
		{"a float that refers", []string{"ALTER TABLE logs ALTER p_id TYPE float8"}, []string{"float:logs.p_id widen,rekey,shadow"}},
		{"a text that is too short", []string{"ALTER TABLE logs ALTER p_id TYPE varchar(10)"}, []string{"narrow:logs.p_id widen,rekey,shadow"}},
		{"a negative key", []string{"INSERT INTO p (id) VALUES (-1)"}, []string{"negative:p.id rekey,shadow"}},
		{"a shared key", []string{"CREATE TABLE profiles (id int PRIMARY KEY REFERENCES p (id))"}, []string{"shared key:profiles.p"}},
		{
			"a composite reference", []string{"CREATE TABLE t (a int, id int UNIQUE NOT NULL, PRIMARY KEY (a, id))", "CREATE TABLE u (id int PRIMARY KEY, a int, t_id int, CONSTRAINT f FOREIGN KEY (a, t_id) REFERENCES t (a, id))"},
			[]string{"composite:u.f"},
		},
		{"inheritance", []string{"CREATE TABLE heir () INHERITS (p)"}, []string{"no key:heir", "inherits:p.p widen,rekey,shadow"}},
		{"a reference to no key", []string{"ALTER TABLE p ADD CONSTRAINT n UNIQUE (n)", "ALTER TABLE c ADD CONSTRAINT r FOREIGN KEY (m) REFERENCES p (n)"}, []string{"reference:c.r"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tx := db.Begin()
			defer tx.Rollback()
			for _, statement := range tt.setup {
				if err := tx.Exec(statement).Error; err != nil {
					t.Fatal(err)
				}
			}
			requireObstacles(t, tx, tt.want)
		})
	}
}

func requireObstacles(t *testing.T, db *gorm.DB, want []string) {
	t.Helper()
	r := mustInspect(t, db, inspect.Options{})
	requireLines(t, obstacles(r), want...)
	for _, o := range r.Obstacles {
		if o.Text == "" || len(o.Blocks) > 0 && o.Do == "" {
			t.Errorf("got %+v, want what it does and what to do", o)
		}
	}
}

func TestObstaclesOfMySQL(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup []string
		want  []string
	}{
		{"a view", []string{"CREATE VIEW v AS SELECT id FROM p"}, []string{"view:p.DB.v"}},
		{"a trigger", []string{"CREATE TRIGGER t BEFORE UPDATE ON c FOR EACH ROW SET new.m = 1"}, nil},
		{"a trigger that cannot be replaced", []string{"CREATE TRIGGER IF NOT EXISTS t BEFORE UPDATE ON c FOR EACH ROW SET new.m = 1"}, []string{"trigger:c.t rekey,shadow"}},
		{"partitions by the key", []string{"CREATE TABLE q (id int PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10))"}, []string{"partition:q.q widen,rekey,shadow"}},
		{"history", []string{"CREATE TABLE q (id int PRIMARY KEY) WITH SYSTEM VERSIONING"}, []string{"versioning:q.q widen,rekey,shadow"}},
		{"another engine", []string{"CREATE TABLE q (id int PRIMARY KEY) ENGINE=MyISAM"}, []string{"engine:q.MyISAM rekey,shadow"}},
		{"ON UPDATE", []string{"ALTER TABLE p ADD changed timestamp NOT NULL DEFAULT current_timestamp ON UPDATE current_timestamp"}, []string{"on update:p.changed"}},
		{"a generated column", []string{"ALTER TABLE c ADD g int AS (m + p_id) STORED"}, []string{"generated:c.g widen,rekey,shadow"}},
		{"a wide generated column", []string{"ALTER TABLE c ADD g bigint AS (m + p_id) STORED"}, []string{"generated:c.g rekey,shadow"}},
		{"a check", []string{"ALTER TABLE c ADD CONSTRAINT k CHECK (m < 5 OR m > p_id)"}, []string{"check:c.k widen,rekey,shadow"}},
		{"a check that all ids pass", []string{"ALTER TABLE c ADD CONSTRAINT k CHECK (p_id >= 1)"}, []string{"check:c.k"}},
		{"a routine", []string{"CREATE PROCEDURE f(i int) SELECT * FROM p WHERE id = i"}, []string{"routine:f widen,rekey,shadow"}},
		{"a wide routine", []string{"CREATE PROCEDURE f(i bigint) SELECT * FROM p WHERE id = i"}, nil},
		{"a float that refers", []string{"ALTER TABLE logs MODIFY p_id double"}, []string{"float:logs.p_id widen,rekey,shadow"}},
		{"a decimal that is too short", []string{"ALTER TABLE logs MODIFY p_id decimal(10)"}, []string{"narrow:logs.p_id widen,rekey,shadow"}},
		{"a list", []string{"ALTER TABLE logs ADD p_ids text"}, []string{"list:logs.p_ids rekey,shadow"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, "mysql")
			run(t, db, "CREATE TABLE p (id int AUTO_INCREMENT PRIMARY KEY, n int)", "CREATE TABLE c (id int PRIMARY KEY, p_id int, m int, CONSTRAINT fk FOREIGN KEY (p_id) REFERENCES p (id))", "CREATE TABLE logs (id int PRIMARY KEY, p_id int)")
			run(t, db, tt.setup...)
			want := make([]string, len(tt.want))
			for n := range want {
				want[n] = strings.ReplaceAll(tt.want[n], "DB.", db.Migrator().CurrentDatabase()+".")
			}
			requireObstacles(t, db, want)
		})
	}
}

func TestLaxMode(t *testing.T) {
	db := openOn(t, "mysql")
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	run(t, db, "CREATE TABLE p (id int PRIMARY KEY)", "DO 0")
	if _, err := pool.ExecContext(t.Context(), "SET SESSION sql_mode = ''"); err != nil {
		t.Fatal(err)
	}
	requireObstacles(t, db, []string{"sql_mode:SESSION widen,rekey,shadow"})
}

func TestObstaclesOfSQLite(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup []string
		want  []string
	}{
		{"a view", []string{"CREATE VIEW v AS SELECT id FROM p"}, []string{"view:p.main.v"}},
		{"a trigger", []string{"CREATE TRIGGER t AFTER UPDATE ON p BEGIN UPDATE p SET n = n + 1 WHERE id = new.id; END"}, nil},
		{"a trigger that writes another table", []string{"CREATE TRIGGER t AFTER UPDATE ON p BEGIN UPDATE OR IGNORE c SET m = 1; END"}, []string{"trigger:p.t rekey,shadow"}},
		{"a trigger of another column", []string{"CREATE TRIGGER t AFTER UPDATE OF n ON p BEGIN UPDATE c SET m = 1; END"}, nil},
		{"a full-text table", []string{"CREATE VIRTUAL TABLE f USING fts4(content=\"p\", n)"}, []string{"full text:p.main.f"}},
		{"a full-text table of its own", []string{"CREATE VIRTUAL TABLE search_p USING fts4(n)"}, []string{"full text:p.main.search_p rekey,shadow"}},
		{"a full-text table of whatever", []string{"CREATE VIRTUAL TABLE f USING fts4(p_id, n, notindexed=p_id)"}, []string{"full text:c.main.f rekey,shadow", "full text:p.main.f rekey,shadow"}},
		{"a full-text table that a trigger keeps", []string{"CREATE VIRTUAL TABLE f USING fts4(n, content='')", "CREATE TRIGGER t AFTER INSERT ON c BEGIN INSERT INTO f (rowid, n) VALUES (NEW.id, 'x'); END"}, []string{"full text:c.main.f rekey,shadow"}},
		{"a generated column", []string{"ALTER TABLE c ADD g AS (p_id + 1)"}, []string{"generated:c.g rekey,shadow"}},
		{"a reference to no table", []string{"CREATE TABLE q (id INTEGER PRIMARY KEY, x int REFERENCES gone (id))"}, []string{"reference:q"}},
		{"texts as keys", []string{"CREATE TABLE q (id int PRIMARY KEY)", "INSERT INTO q VALUES (1), ('x')"}, []string{"no key:q"}},
		{"no key at all", []string{"CREATE TABLE q (id int PRIMARY KEY)", "INSERT INTO q VALUES (1), (NULL)"}, []string{"no key:q"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, "sqlite")
			run(t, db, "CREATE TABLE p (id INTEGER PRIMARY KEY, n int)", "CREATE TABLE c (id INTEGER PRIMARY KEY, p_id int REFERENCES p (id), m int)")
			run(t, db, tt.setup...)
			requireObstacles(t, db, tt.want)
		})
	}
}

// The tables that a module keeps in the file are not taken for the application's where the module is missing.
func TestMissingModule(t *testing.T) {
	db := openOn(t, "sqlite")
	run(t, db, "CREATE TABLE posts_fts_data (id INTEGER PRIMARY KEY)", "PRAGMA writable_schema = ON",
		"INSERT INTO sqlite_master VALUES ('table', 'posts_fts', 'posts_fts', 0, 'CREATE VIRTUAL TABLE posts_fts USING fts17(a)')", "PRAGMA writable_schema = RESET")
	if _, err := inspect.Read(t.Context(), db, inspect.Options{}); err == nil || !strings.Contains(err.Error(), "the virtual table posts_fts: ") || !strings.Contains(err.Error(), "no such module: fts17 in this program") {
		t.Errorf("got %v, want the table and its module", err)
	}
}
