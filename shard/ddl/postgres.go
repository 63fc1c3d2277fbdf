package ddl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	postgresLongest = 63 // bytes; the rest of a longer name is cut off

	// listed is the most buckets that a list partition has: PostgreSQL keeps them in one row of its catalog, which a page has to hold. Measured on
	// PostgreSQL 15: 640 do, whichever they are, and 660 may not.
	listed = 600

	// hashed is what PostgreSQL adds to the hash of the only column of a partition key before it takes the remainder: hash_combine64 of 0 and
	// the hash, in its common/hashfn.h.
	hashed = 0x49a0f4dd15e5a8e3
)

// PostgresHash returns the statements that make the table on PostgreSQL, from 11 on, with a partition for each shard that has the name of the
// shard's table. A query by id reads one partition. A hash operator class, named as the table with "_shard" at its end, does it, which only a
// superuser may make; once it is there anybody may use it. Its function costs an insert some 2 µs a row. The class is of the type bigint, and a
// number in a statement that fits 32 bits is an integer to PostgreSQL: for such an id all partitions are read. No layout makes one for long. The
// function is the map: replacing it under a table with rows loses them from sight.
func (t Table) PostgresHash() ([]string, error) {
	d, err := t.postgres()
	if err == nil {
		err = d.local()
	}
	if err != nil {
		return nil, err
	}
	key := quote(dialect.Postgres, d.Key)
	statements := append(d.operators(), d.create(d.own(d.name.Name), key, "CHECK ("+d.ids(key)+")")+d.byHash())
	for i, p := range d.parts {
		statements = append(statements, "CREATE TABLE "+d.own(p.Table(d.name.Name))+" PARTITION OF "+d.own(d.name.Name)+d.remainder(i))
	}
	return statements, nil
}

// PostgresList returns the statements that make the table on PostgreSQL with a partition for each shard that has the name of the shard's table. No
// privilege is needed beyond those for making tables. No shard may have more than 600 buckets, which PostgreSQL could not list. A query by id looks
// into every partition, unless its WHERE has the condition of the bucket too, with the same expression: id = $1 AND (id & 1023) = ($1 & 1023). The
// primary keys are those of the partitions.
func (t Table) PostgresList() ([]string, error) {
	d, err := t.postgres()
	if err == nil {
		err = d.local()
	}
	if err != nil {
		return nil, err
	}
	key := quote(dialect.Postgres, d.Key)
	statements := []string{"CREATE TABLE " + d.own(d.name.Name) + " (\n" + d.Columns + "\n, CHECK (" + d.ids(key) + ")\n) PARTITION BY LIST (" + d.bucket(key) + ")"}
	for _, p := range d.parts {
		if len(p.buckets) > listed {
			return nil, fmt.Errorf("%w: shard %s has %d buckets, and PostgreSQL can list %d for a partition; have more shards, or take PostgresHash",
				shard.ErrMap, p.Name, len(p.buckets), listed)
		}
		statements = append(statements, "CREATE TABLE "+d.own(p.Table(d.name.Name))+" PARTITION OF "+d.own(d.name.Name)+
			" (PRIMARY KEY ("+key+")) FOR VALUES IN ("+list(p.buckets)+")")
	}
	return statements, nil
}

// postgres returns the division, all names of which fit.
func (t Table) postgres() (*division, error) {
	d, err := t.division()
	if err != nil {
		return nil, err
	}
	names := []string{d.name.Name, d.name.Name + "_shard"}
	for _, p := range d.parts {
		if p.Database == "" {
			names = append(names, p.Table(d.name.Name))
		} else {
			names = append(names, d.foreign(p))
		}
	}
	if err := distinct(postgresLongest, names...); err != nil {
		return nil, err
	}
	return d, nil
}

// own returns a name in the table's schema, quoted.
func (d *division) own(name string) string { return quoteIn(dialect.Postgres, d.name.Schema, name) }

// operators returns the statements that make the operator class. Its only operator is that of the primary key, so that PostgreSQL lets the two
// stand for each other.
func (d *division) operators() []string {
	name := d.own(d.name.Name + "_shard")
	return []string{
		fmt.Sprintf("CREATE FUNCTION %s(id bigint, seed bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS 'BEGIN RETURN %s - %d; END'",
			name, d.position(), int64(hashed)),
		fmt.Sprintf("CREATE OPERATOR CLASS %s FOR TYPE bigint USING hash AS OPERATOR 1 =, FUNCTION 2 %[1]s(bigint, bigint)", name),
	}
}

// position returns the expression for the index of the part that the parameter id leads to.
func (d *division) position() string {
	of, even := make([]int64, d.max+1), true
	for i, p := range d.parts {
		for _, b := range p.buckets {
			of[b] = int64(i)
			even = even && b%int64(len(d.parts)) == int64(i)
		}
	}
	if even {
		return d.bucket("id") + " % " + strconv.Itoa(len(d.parts))
	}
	return "(''{" + list(of) + "}''::bigint[])[" + d.bucket("id") + " + 1]"
}

func (d *division) byHash() string {
	return " PARTITION BY HASH (" + quote(dialect.Postgres, d.Key) + " " + d.own(d.name.Name+"_shard") + ")"
}

func (d *division) remainder(i int) string {
	return fmt.Sprintf(" FOR VALUES WITH (MODULUS %d, REMAINDER %d)", len(d.parts), i)
}

// postgresText returns a text as PostgreSQL reads it, whatever standard_conforming_strings is.
func postgresText(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}
