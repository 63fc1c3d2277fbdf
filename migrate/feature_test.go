package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// feature is something of a server that schemas have beside or over the keys of two tables with 50 rows each, a (id, word, created_at), and
// b (id, a_id, word, created_at), whose a_id is a.id.
type feature struct {
	name, kind string
	sql        []string       // that adds it
	shows      []string       // queries for what stays, of features that are migrated
	says       string         // what the plan says, of features that it refuses, or asks to accept
	refused    []migrate.Mode // the modes in which it does, all where there are none; in the others it says nothing
	asked      []migrate.Mode // the modes in which it can be accepted
}

// pair makes the two tables and their rows.
func (d *database) pair() {
	key, at, series, time := "INT NOT NULL AUTO_INCREMENT PRIMARY KEY", "DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP", "(SELECT seq AS n FROM seq_1_to_50) s", "TIMESTAMP('2024-01-01 00:00:00') + INTERVAL n SECOND"
	if d.kind == "postgres" {
		key, at, series, time = "serial PRIMARY KEY", "timestamptz NOT NULL DEFAULT now()", "generate_series(1, 50) n", "timestamptz '2024-01-01 00:00:00Z' + n * interval '1 s'"
	}
	d.exec(fmt.Sprintf("CREATE TABLE a (id %s, word VARCHAR(40) NOT NULL, created_at %s)", key, at),
		fmt.Sprintf("CREATE TABLE b (id %s, a_id INT NOT NULL, word VARCHAR(40) NOT NULL, created_at %s)", key, at),
		fmt.Sprintf("INSERT INTO a (word, created_at) SELECT CONCAT('word', n), %s FROM %s", time, series),
		fmt.Sprintf("INSERT INTO b (a_id, word, created_at) SELECT (SELECT x.id FROM a x WHERE x.word = CONCAT('word', n)), CONCAT('word', n, ' of b'), %s FROM %s", time, series))
}

const refers = "ALTER TABLE b ADD CONSTRAINT b_a FOREIGN KEY (a_id) REFERENCES a (id)"

// kept are migrated, and are afterwards as they were.
var kept = []feature{
	{name: "full text", kind: "mysql", sql: []string{
		"ALTER TABLE a ADD FTS_DOC_ID BIGINT UNSIGNED NOT NULL", "UPDATE a SET FTS_DOC_ID = id", "ALTER TABLE a ADD UNIQUE FTS_DOC_ID_INDEX (FTS_DOC_ID), ADD FULLTEXT a_word (word)",
		"ALTER TABLE b ADD FULLTEXT b_word (word)", "ALTER TABLE b ADD FULLTEXT other (word)", refers,
		"CREATE TABLE c (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, b_id INT NOT NULL, word VARCHAR(40) NOT NULL, created_at DATETIME NOT NULL, FULLTEXT c_word (word))",
		"INSERT INTO c SELECT id, id, word, created_at FROM b",
	}, shows: []string{
		"SELECT word, FTS_DOC_ID FROM a WHERE MATCH (word) AGAINST ('word7 word8') ORDER BY 1",
		"SELECT y.word, x.word FROM c z JOIN b y ON y.id = z.b_id JOIN a x ON x.id = y.a_id WHERE MATCH (z.word) AGAINST ('word7 word8') AND MATCH (y.word) AGAINST ('word7 word8') ORDER BY 1",
	}},
	{name: "of MariaDB", kind: "mysql", sql: []string{
		"CREATE SEQUENCE numbers START 51", "ALTER TABLE a MODIFY id INT NOT NULL DEFAULT NEXTVAL(numbers)",
		"ALTER TABLE a ADD at POINT NOT NULL DEFAULT ST_GeomFromText('POINT(1 1)')", "UPDATE a SET at = ST_GeomFromText(CONCAT('POINT(', id, ' 1)'))", "ALTER TABLE a ADD SPATIAL INDEX a_at (at)",
		"ALTER TABLE b ADD letters BIGINT AS (CHAR_LENGTH(word)) PERSISTENT, ADD upper_word VARCHAR(40) AS (UPPER(word)) VIRTUAL, ADD KEY (upper_word), ADD secret INT INVISIBLE DEFAULT 5, " +
			"ADD CONSTRAINT positive CHECK (a_id > 0), ADD u UUID DEFAULT '00000000-0000-0000-0000-000000000001', ADD KEY down (a_id DESC, id DESC), ADD KEY unseen (a_id) IGNORED, ROW_FORMAT=COMPRESSED COMMENT 'hers'",
		refers,
	}, shows: []string{
		"SELECT word FROM a WHERE ST_Within(at, ST_GeomFromText('POLYGON((0 0, 9 0, 9 9, 0 9, 0 0))')) ORDER BY 1", "SELECT letters, upper_word, secret, u FROM b ORDER BY 2",
	}},
	{name: "full text and more of PostgreSQL", kind: "postgres", sql: []string{
		"ALTER TABLE a ADD search tsvector, ADD find tsvector GENERATED ALWAYS AS (to_tsvector('simple', word)) STORED, ADD at point NOT NULL DEFAULT '(1, 1)'",
		"CREATE TRIGGER a_search BEFORE INSERT OR UPDATE ON a FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger (search, 'pg_catalog.simple', word)", "UPDATE a SET word = word",
		"CREATE INDEX a_search ON a USING gist (search)", "CREATE INDEX a_find ON a USING gin (find)", "CREATE INDEX a_at ON a USING spgist (at)", "CREATE INDEX b_find ON b USING gin (to_tsvector('simple', word))",
		"CREATE UNIQUE INDEX cover ON b (a_id DESC NULLS LAST, word) INCLUDE (id)", "CREATE INDEX digit ON b ((a_id % 10))", "CREATE INDEX hashed ON b USING hash (a_id)", "CREATE INDEX ranges ON b USING brin (a_id, created_at)",
		"ALTER TABLE b ADD during int4range NOT NULL DEFAULT 'empty', ADD EXCLUDE USING gist (during WITH &&)", "CREATE STATISTICS s ON created_at, word FROM b",
		"ALTER TABLE b SET (fillfactor = 70), ALTER word SET STORAGE EXTERNAL, ALTER a_id SET STATISTICS 500, SET UNLOGGED", "ALTER TABLE b ADD UNIQUE (word), REPLICA IDENTITY USING INDEX b_word_key",
		"CREATE TYPE kind AS ENUM ('x', 'y')", "ALTER TABLE a ADD kind kind NOT NULL DEFAULT 'x'",
		"ALTER TABLE b ALTER id DROP DEFAULT", "DROP SEQUENCE b_id_seq", "ALTER TABLE b ALTER id ADD GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 5)", "COMMENT ON SEQUENCE b_id_seq IS 'hers'", "GRANT USAGE ON SEQUENCE b_id_seq TO PUBLIC",
		"ALTER TABLE b ENABLE ROW LEVEL SECURITY", "CREATE POLICY own ON b USING (word <> 'word7')", "CREATE PUBLICATION shop FOR TABLE a",
		"CREATE VIEW words AS SELECT b.id, a.word FROM b JOIN a ON a.id = b.a_id", "CREATE MATERIALIZED VIEW seen AS SELECT word FROM a",
		"CREATE RULE none AS ON UPDATE TO b DO INSTEAD NOTHING", "CREATE FUNCTION named (x a) RETURNS text LANGUAGE sql STABLE AS 'SELECT x.word'",
		"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC", "ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO PUBLIC",
		refers, "COMMENT ON CONSTRAINT b_a ON b IS 'whose'",
	}, shows: []string{
		"SELECT word, search, find, kind FROM a WHERE search @@ 'word7 | word8' OR find @@ 'word9' ORDER BY 1", "SELECT word FROM b WHERE to_tsvector('simple', word) @@ 'word7'",
		"SELECT word FROM words ORDER BY 1", "SELECT x.named FROM a x ORDER BY 1", "SELECT word FROM seen ORDER BY 1",
	}},
}

// TestFeatures takes what is kept through all modes, forth, back, and forth to the end.
func TestFeatures(t *testing.T) {
	t.Parallel()
	for _, f := range kept {
		for _, mode := range f.modes() {
			t.Run(f.name+"/"+string(mode), func(t *testing.T) {
				if mode != migrate.Rekey {
					dbtest.LongOn(t, f.kind, "postgres")
				}
				t.Parallel()
				d := open(t, f.kind)
				d.pair()
				d.exec(f.sql...)
				look := func() (text string) {
					for _, query := range append([]string{"SELECT x.word, y.word FROM b y JOIN a x ON x.id = y.a_id ORDER BY 2"}, f.shows...) {
						text += d.lines(query) + "\n"
					}
					return text
				}
				ids := func() string {
					return d.lines("SELECT id, word FROM a ORDER BY 2") + d.lines("SELECT id, a_id, word FROM b ORDER BY 3")
				}
				before, old := look(), ids()
				o := migrate.PlanOptions{Mode: mode, Zone: "UTC"}
				p := d.planAccepting(migrate.InspectOptions{}, o)
				d.runUntil(p, "contract")
				d.verify(p)
				d.same("after the run", look(), before)
				d.exec("INSERT INTO b (id, a_id, word) SELECT 7130316800000020481, MIN(id), 'other' FROM a", "DELETE FROM b WHERE word = 'other'")
				d.rollback(p)
				d.verify(p)
				d.same("after the rollback", look(), before)
				d.same("the ids after the rollback", ids(), old)
				p = d.planAccepting(migrate.InspectOptions{}, o)
				d.run(p)
				d.same("at the end", look(), before)
			})
		}
	}
}

// modes returns those of the feature's database.
func (f feature) modes() []migrate.Mode {
	if f.kind == "postgres" {
		return []migrate.Mode{migrate.Widen, migrate.Rekey, migrate.Shadow}
	}
	return []migrate.Mode{migrate.Widen, migrate.Rekey}
}

var (
	rewriting = []migrate.Mode{migrate.Rekey, migrate.Shadow}
	shadow    = []migrate.Mode{migrate.Shadow}
)

// stopped are refused when a plan is made, or asked to accept: a run would fail in its middle, or rows would be lost to somebody.
var stopped = []feature{
	{name: "document ids as key", kind: "mysql", says: "FTS_DOC_ID", sql: []string{"ALTER TABLE a CHANGE id FTS_DOC_ID BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, ADD FULLTEXT (word)"}},
	{name: "invisible key", kind: "mysql", says: "invisible", sql: []string{"ALTER TABLE a MODIFY id INT NOT NULL AUTO_INCREMENT INVISIBLE"}},
	{name: "system versions", kind: "mysql", says: "history", sql: []string{"ALTER TABLE a ADD SYSTEM VERSIONING"}},
	{name: "zerofill", kind: "mysql", says: "certain", sql: []string{"ALTER TABLE a MODIFY id INT(8) ZEROFILL NOT NULL AUTO_INCREMENT"}},
	{name: "computed", kind: "mysql", says: "doubled", refused: rewriting, sql: []string{"ALTER TABLE a ADD doubled BIGINT AS (id * 2) VIRTUAL"}},
	{name: "computed from a reference", kind: "mysql", says: "label", refused: rewriting, sql: []string{"ALTER TABLE b ADD label VARCHAR(50) AS (CONCAT('b-', a_id)) PERSISTENT", refers}},
	{name: "check", kind: "mysql", says: "small", refused: rewriting, asked: []migrate.Mode{migrate.Widen}, sql: []string{"ALTER TABLE b ADD CONSTRAINT small CHECK (a_id < 1000000)", refers}},
	{name: "check", kind: "postgres", says: "small", refused: []migrate.Mode{migrate.Rekey}, asked: []migrate.Mode{migrate.Widen, migrate.Shadow}, sql: []string{"ALTER TABLE b ADD CONSTRAINT small CHECK (a_id < 1000000)", refers}},
	{name: "partitions by the key", kind: "mysql", says: "partition", refused: rewriting, asked: []migrate.Mode{migrate.Widen}, sql: []string{"ALTER TABLE a PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN MAXVALUE)"}},
	{name: "MyISAM", kind: "mysql", says: "MyISAM", sql: []string{"ALTER TABLE a ENGINE=MyISAM"}},

	{name: "full text of the id", kind: "postgres", says: "find", sql: []string{"ALTER TABLE a ADD find tsvector GENERATED ALWAYS AS (to_tsvector('simple', word || ' ' || id)) STORED"}},
	{name: "exclusion of ids", kind: "postgres", says: "exclusion", refused: shadow, sql: []string{"ALTER TABLE b ADD EXCLUDE USING btree (a_id WITH =)", refers}},
	{name: "materialized view", kind: "postgres", says: "seen", sql: []string{"CREATE MATERIALIZED VIEW seen AS SELECT id FROM a"}},
	{name: "policy", kind: "postgres", says: "mine", sql: []string{"ALTER TABLE b ENABLE ROW LEVEL SECURITY", "CREATE POLICY mine ON b USING (id > 5)"}},
	{name: "rule", kind: "postgres", says: "keep", sql: []string{"CREATE RULE keep AS ON DELETE TO a WHERE OLD.id < 5 DO INSTEAD NOTHING"}},
	{name: "rule without the id", kind: "postgres", says: "keep", refused: []migrate.Mode{}, asked: shadow, sql: []string{"CREATE RULE keep AS ON DELETE TO a DO INSTEAD NOTHING"}},
	{name: "extended statistics", kind: "postgres", says: "statistics", refused: shadow, sql: []string{"CREATE STATISTICS s ON a_id, word FROM b", refers}},
	{name: "published columns", kind: "postgres", says: "shop", sql: []string{"CREATE PUBLICATION shop FOR TABLE b (id, a_id)"}},
	{name: "published rows", kind: "postgres", says: "shop", sql: []string{"CREATE PUBLICATION shop FOR TABLE b WHERE (id > 5)"}},
	{name: "replica identity by an index", kind: "postgres", says: "identity", refused: shadow, sql: []string{"CREATE UNIQUE INDEX pair ON b (a_id, id)", "ALTER TABLE b REPLICA IDENTITY USING INDEX pair", refers}},
	{name: "replica identity by none", kind: "postgres", says: "identity", refused: rewriting, sql: []string{"ALTER TABLE b REPLICA IDENTITY NOTHING", "CREATE PUBLICATION shop FOR TABLE b"}},
	{name: "clustered", kind: "postgres", says: "clustered", refused: shadow, sql: []string{"CREATE INDEX cl ON b (a_id)", "CLUSTER b USING cl", refers}},
	{name: "two sequences", kind: "postgres", says: "b_id_seq first", sql: []string{"ALTER TABLE b ALTER id DROP DEFAULT, ALTER id ADD GENERATED BY DEFAULT AS IDENTITY"}},
	{name: "domain", kind: "postgres", says: "number", sql: []string{"CREATE DOMAIN number AS int", "ALTER TABLE a ALTER id TYPE number"}},
	{name: "domain of 64 bits", kind: "postgres", says: "number", refused: shadow, sql: []string{"CREATE DOMAIN number AS bigint CHECK (VALUE > 0)", "ALTER TABLE a ALTER id TYPE number"}},
	{name: "domain of small numbers", kind: "postgres", says: "number", sql: []string{"CREATE DOMAIN number AS bigint CHECK (VALUE < 1000000)", "ALTER TABLE a ALTER id TYPE number"}},
	{name: "inheritance", kind: "postgres", says: "inherit", sql: []string{"CREATE TABLE c (extra text) INHERITS (b)"}},
	{name: "partitions", kind: "postgres", says: "partition", refused: shadow, sql: []string{"CREATE TABLE c (id int NOT NULL, at date NOT NULL, a_id int NOT NULL REFERENCES a, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)", "CREATE TABLE c_1 PARTITION OF c DEFAULT"}},
	{name: "list of ids", kind: "postgres", says: "b_ids", refused: []migrate.Mode{}, asked: rewriting, sql: []string{"ALTER TABLE a ADD b_ids int[] DEFAULT '{1, 2}'"}},
	{name: "row type", kind: "postgres", says: "log", sql: []string{"CREATE TABLE log (id serial PRIMARY KEY, was a, created_at timestamptz DEFAULT now())"}},
	{name: "body of a function", kind: "postgres", says: "third", sql: []string{"CREATE FUNCTION third () RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT id FROM a WHERE word = 'word3'; END"}},
	{name: "trigger of a column", kind: "postgres", says: "touched", sql: []string{"CREATE FUNCTION f () RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'", "CREATE TRIGGER touched BEFORE UPDATE OF id ON a FOR EACH ROW EXECUTE FUNCTION f ()"}},
	{name: "trigger that is always on", kind: "postgres", says: "touched", refused: []migrate.Mode{}, asked: rewriting, sql: []string{"CREATE FUNCTION f () RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
		"CREATE TRIGGER touched BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION f ()", "ALTER TABLE a ENABLE ALWAYS TRIGGER touched"}},
	{name: "partitions by the key", kind: "postgres", says: "partition", sql: []string{"CREATE TABLE c (id serial PRIMARY KEY, created_at timestamptz NOT NULL) PARTITION BY RANGE (id)", "CREATE TABLE c_1 PARTITION OF c DEFAULT"}},
	{name: "partitions by a wide key", kind: "postgres", says: "partition", refused: rewriting, asked: []migrate.Mode{migrate.Widen}, sql: []string{"CREATE TABLE c (id bigserial PRIMARY KEY, created_at timestamptz NOT NULL) PARTITION BY RANGE (id)", "CREATE TABLE c_1 PARTITION OF c DEFAULT"}},
	{name: "negative key", kind: "postgres", says: "keys below 0", refused: []migrate.Mode{}, asked: rewriting, sql: []string{"INSERT INTO a (id, word) VALUES (-5, 'least')"}},
	{name: "owners of other databases", kind: "postgres", says: "polymorphic", refused: []migrate.Mode{}, asked: rewriting, sql: []string{"ALTER TABLE b ADD owner_type text DEFAULT 'ghost', ADD owner_id int DEFAULT 7"}},
	{name: "keys above 2^63", kind: "mysql", says: "2^63-1", sql: []string{"ALTER TABLE a MODIFY id BIGINT UNSIGNED AUTO_INCREMENT", "INSERT INTO a (id, word) VALUES (9223372036854775808, 'greatest')"}},
	{name: "audit without keys", kind: "mysql", says: "inserts rows without id", refused: []migrate.Mode{}, asked: []migrate.Mode{migrate.Widen, migrate.Rekey}, sql: []string{"CREATE TRIGGER audit AFTER INSERT ON a FOR EACH ROW INSERT INTO b (a_id, word) VALUES (NEW.id, 'log')"}},
	{name: "audit without keys", kind: "postgres", says: "inserts rows without id", refused: []migrate.Mode{}, asked: []migrate.Mode{migrate.Widen, migrate.Rekey, migrate.Shadow}, sql: []string{"CREATE FUNCTION audit () RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO b (a_id, word) VALUES (NEW.id, ''log''); RETURN NEW; END'", "CREATE TRIGGER audit AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION audit ()"}},
	{name: "deferrable key", kind: "postgres", says: "deferrable", refused: shadow, sql: []string{"ALTER TABLE a DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (id) DEFERRABLE"}},
}

// TestOffers plans for what is stopped, without a word and with all that the plan has offered to accept: what is offered lets the plan be made, and
// nothing is offered where it would be refused all the same. With keys of 64 bits, less is refused.
func TestOffers(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, f := range stopped {
		if f.refused == nil {
			f.refused = f.modes()
		}
		for _, wide := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s/wide=%t", f.kind, f.name, wide), func(t *testing.T) {
				t.Parallel()
				d := open(t, f.kind)
				d.pair()
				if wide {
					d.exec(map[string][]string{
						"mysql":    {"ALTER TABLE a MODIFY id BIGINT AUTO_INCREMENT", "ALTER TABLE b MODIFY id BIGINT AUTO_INCREMENT, MODIFY a_id BIGINT"},
						"postgres": {"ALTER TABLE a ALTER id TYPE bigint", "ALTER TABLE b ALTER id TYPE bigint, ALTER a_id TYPE bigint"},
					}[f.kind]...)
				}
				d.exec(f.sql...)
				for _, mode := range f.modes() {
					f.offer(d, mode, wide)
				}
			})
		}
	}
}

// offer plans in a mode.
func (f feature) offer(d *database, mode migrate.Mode, wide bool) {
	o := migrate.PlanOptions{Mode: mode, Zone: "UTC"}
	_, err := d.tryPlan(migrate.InspectOptions{}, o)
	if blocked := new(plan.Blocked); errors.As(err, &blocked) {
		for _, need := range blocked.Needs {
			if need.Flag == "accept" {
				o.Accept = append(o.Accept, need.Value)
			}
		}
	}
	_, after := d.tryPlan(migrate.InspectOptions{}, o)
	if len(o.Accept) > 0 && after != nil {
		d.t.Errorf("%s: got %v, with all accepted that was offered: %q; it was refused for %v", mode, after, o.Accept, err)
	}
	if wide {
		return
	}
	refused, asked := slices.Contains(f.refused, mode), slices.Contains(f.asked, mode)
	if refused != (after != nil) || asked != (len(o.Accept) > 0) {
		d.t.Errorf("%s: got %v, want it refused: %t, and offered to accept: %t", mode, err, refused, asked)
	}
	if err != nil && !strings.Contains(err.Error(), f.says) {
		d.t.Errorf("%s: got %v, want %q in it", mode, err, f.says)
	}
}

// TestCompositeKeyStays has a plan say which integers of composite keys stay as narrow as they are.
func TestCompositeKeyStays(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		d.pair()
		d.exec("CREATE TABLE c (at DATE NOT NULL, id INT NOT NULL, a_id INT NOT NULL, PRIMARY KEY (at, id, a_id), FOREIGN KEY (a_id) REFERENCES a (id))")
		p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{})
		const want = "c.id keeps its 32 bits, and goes on as it is: the key of c is at, id, a_id, and a plan changes keys of one column."
		if notes := strings.Join(p.Notes, "\n"); strings.Count(notes, "keeps its") != 1 || !slices.Contains(p.Notes, want) {
			t.Errorf("got the notes\n%s\nwant %q in it, and nothing of c.a_id", notes, want)
		}
	}, "mysql", "postgres")
}

// TestTableLeftOut migrates a and not b, which a trigger fills without keys: the database goes on to make these.
func TestTableLeftOut(t *testing.T) {
	t.Parallel()
	for _, f := range stopped {
		if f.name != "audit without keys" {
			continue
		}
		for _, mode := range f.modes() {
			t.Run(f.kind+"/"+string(mode), func(t *testing.T) {
				if mode != migrate.Rekey {
					dbtest.LongOn(t, f.kind, "postgres")
				}
				t.Parallel()
				d := open(t, f.kind)
				d.pair()
				d.exec(f.sql...)
				d.exec(refers)
				p := d.plan(migrate.InspectOptions{Tables: []string{"!b"}}, migrate.PlanOptions{Mode: mode, Zone: "UTC"})
				d.runUntil(p, "contract")
				d.verify(p)
				d.exec("INSERT INTO a (id, word) VALUES (300000000000000000, 'new')")
				const missing = "SELECT 1 - COUNT(*) FROM b WHERE id BETWEEN 51 AND 100 AND a_id = 300000000000000000"
				d.none("rows that the trigger did not write", missing)
				d.none("rows of b that refer to another row of a", "SELECT COUNT(*) FROM b WHERE id <= 50 AND NOT EXISTS (SELECT 1 FROM a WHERE a.id = b.a_id AND CONCAT(a.word, ' of b') = b.word)")
				d.rollback(p)
				d.none("rows of the trigger that are gone", missing)
				d.none("new ids of old rows", "SELECT COUNT(*) FROM a WHERE id > 50 AND word <> 'new'")
			})
		}
	}
}
