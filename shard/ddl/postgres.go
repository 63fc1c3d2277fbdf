package ddl

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/shard"
)

const (
	postgresLongest = 63 // bytes; the rest of a longer name is cut off

	// mostListed is the most buckets that a list partition has: PostgreSQL keeps them in one row of its catalog, which a page has to hold. Measured
	// on PostgreSQL 15: 640 do, whichever they are, and 660 may not.
	mostListed = 600

	// combined is what PostgreSQL adds to the hash of the only column of a partition key before it takes the remainder: hash_combine64 of 0 and
	// the hash, in its common/hashfn.h.
	combined = 0x49a0f4dd15e5a8e3
)

func (d *division) checkPostgresRange() error {
	if !d.top {
		return fmt.Errorf("%w: %s has another field above the bucket, so the ids of a shard are no range; take %s or %s, or a layout as idgen.Scattered",
			shard.ErrLayout, d.Layout, PostgresHash, PostgresList)
	}
	return d.checkNames(postgresLongest, "")
}

func (d *division) createPostgresRange() *Script {
	return d.createPostgres(d.whole(dialect.Postgres)+" PARTITION BY RANGE ("+dialect.Postgres.QuoteAny(d.Key)+")", "")
}

// createPostgresHash needs an operator class for the bucket, which only a superuser may make.
func (d *division) createPostgresHash() *Script {
	s := d.createPostgres(d.whole(dialect.Postgres)+d.byHash(), "")
	s.Install = d.operators()
	return s
}

// createPostgresList has the primary key in each partition: PostgreSQL allows none where the partition key is an expression.
func (d *division) createPostgresList() *Script {
	key := dialect.Postgres.QuoteAny(d.Key)
	return d.createPostgres(d.unkeyed()+" PARTITION BY LIST ("+d.bucket(key)+")", " (PRIMARY KEY ("+key+"))")
}

// createPostgres returns a table with its partitions; inside is what each of these has between the table's name and its bounds.
func (d *division) createPostgres(create, inside string) *Script {
	s := &Script{Table: []string{create}}
	for _, p := range d.parts {
		s.Table = append(s.Table, "CREATE TABLE "+d.own(d.table(p))+" PARTITION OF "+d.own(d.name.Name)+inside+d.bounds(p))
	}
	return s
}

// growPostgres splits a partition in a transaction each: the rows of the new shards go to new tables, and the others stay in the old one. With
// PostgresFDW the transaction is the head's, and the rows go through the head to new tables of the same server.
func growPostgres(from, to *division) *Script {
	const pg = dialect.Postgres
	s, foreign := &Script{}, to.engine == PostgresFDW
	if foreign {
		s.Remote, s.After = map[string][]string{}, map[string][]string{}
	}
	table, key := to.own(to.name.Name), "t."+pg.QuoteAny(to.Key)
	for _, split := range from.splits(to) {
		old := to.own(to.table(split.from))
		lines, attached := []string{"ALTER TABLE " + table + " DETACH PARTITION " + old}, []string(nil)
		for i, p := range split.into {
			name, of := to.own(to.table(p)), " FROM "+old+" t WHERE "+to.in(key, p)
			bounds := to.bounds(p)
			switch {
			case i > 0 && foreign:
				to.remotePostgres(s, p)
				lines = append(lines, "CREATE FOREIGN TABLE "+name+" PARTITION OF "+table+bounds+to.at(p), owned(name, old), "INSERT INTO "+name+" SELECT *"+of, "DELETE"+of)
				continue
			case i > 0:
				lines = append(lines, "CREATE TABLE "+name+" (LIKE "+old+" INCLUDING ALL)", owned(name, old),
					"WITH moved AS (DELETE"+of+" RETURNING *) INSERT INTO "+name+" SELECT * FROM moved")
			}
			attached = append(attached, "ALTER TABLE "+table+" ATTACH PARTITION "+name+bounds)
		}
		s.Table = append(s.Table, atOnce(append(lines, attached...)))
		if foreign {
			kept := split.into[0]
			name, constraint := to.constraint(pg, kept)
			server := to.Servers[kept.server]
			s.After[server.Name] = append(s.After[server.Name], "ALTER TABLE "+quoteIn(pg, server.schema(), to.table(kept))+" DROP CONSTRAINT "+name+", ADD "+constraint)
		}
	}
	return s.finish(pg, resume)
}

// owned returns the statement of a DO that gives a new table the owner of another one, both quoted: an administrator may have run it.
func owned(name, like string) string {
	return "EXECUTE (SELECT " + postgresText("ALTER TABLE "+name+" OWNER TO ") + " || relowner::regrole FROM pg_class WHERE oid = " + postgresText(like) + "::regclass)"
}

// atOnce makes one statement of several, which happen all or not at all.
func atOnce(statements []string) string {
	body := "BEGIN\n" + strings.Join(statements, ";\n") + ";\nEND"
	tag := "$snowkey$"
	for strings.Contains(body, tag) { // in a name
		tag = tag[:len(tag)-1] + "_$"
	}
	return "DO " + tag + body + tag
}

// checkBelow returns an error for a layout with the bucket on top, where ranges of ids do all that is needed.
func (d *division) checkBelow() error {
	if d.top {
		return fmt.Errorf("%w: %s has the bucket on top; take %s, which needs no more than ranges of ids", shard.ErrLayout, d.Layout, PostgresRange)
	}
	return cmp.Or(d.checkLists(mostListed), d.checkNames(postgresLongest, ""))
}

// unkeyed returns the statement that makes the divided table without a primary key.
func (d *division) unkeyed() string {
	return d.create(d.own(d.name.Name), d.refusing(dialect.Postgres.QuoteAny(d.Key)))
}

// bounds returns the clause that says which rows a partition has.
func (d *division) bounds(p part) string {
	switch {
	case d.top:
		from, to := "MINVALUE", "MAXVALUE" // of 63 bits the next id would be no bigint
		if p.first > 0 {
			from = fmt.Sprint(d.least(p))
		}
		if p.last < d.max {
			to = fmt.Sprint(d.greatest(p) + 1)
		}
		return " FOR VALUES FROM (" + from + ") TO (" + to + ")"
	case d.hashed():
		return fmt.Sprintf(" FOR VALUES WITH (MODULUS %d, REMAINDER %d)", p.step, p.first)
	}
	return " FOR VALUES IN (" + list(d.listed(p)) + ")"
}

// own returns a name in the table's schema, quoted.
func (d *division) own(name string) string { return quoteIn(dialect.Postgres, d.name.Schema, name) }

// class returns the name of the operator class, which is the same for all tables of a schema with the bucket in the same place.
func (d *division) class() string {
	return d.own(fmt.Sprintf("snowkey_bucket_%d_%d", d.max+1, d.shift))
}

// operators returns the statements that make the operator class. The hash of an id is its bucket, so the remainder of a partition is that of the
// bucket for any modulus. Its only operator is that of the primary key, so that PostgreSQL lets the two stand for each other.
func (d *division) operators() []string {
	class := d.class()
	return []string{
		fmt.Sprintf("CREATE OR REPLACE FUNCTION %s(id bigint, seed bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS 'BEGIN RETURN %s - %d; END'",
			class, d.bucket("id"), int64(combined)),
		// There is no IF NOT EXISTS for it.
		atOnce([]string{fmt.Sprintf("CREATE OPERATOR CLASS %s FOR TYPE bigint USING hash AS OPERATOR 1 =, FUNCTION 2 %[1]s(bigint, bigint);\n"+
			"EXCEPTION WHEN duplicate_object THEN NULL", class)}),
	}
}

func (d *division) byHash() string {
	return " PARTITION BY HASH (" + dialect.Postgres.QuoteAny(d.Key) + " " + d.class() + ")"
}

// postgresText returns a text as PostgreSQL reads it, whatever standard_conforming_strings is.
func postgresText(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}
