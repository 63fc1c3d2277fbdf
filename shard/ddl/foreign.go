package ddl

import (
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Foreign returns the statements for a table on a PostgreSQL server, the head, some or all of whose partitions are on other servers, through
// postgres_fdw. The shards of the map that are in no named database have their partitions on the head; the servers of the others are given by that
// name. A foreign partition is named as the table, with an underline and the shard's name behind it. A query by id asks one server.
//
// What to know of it: making the operator class and the extension needs a superuser of the head. A table with a foreign partition cannot have a
// primary key, so there is no ON CONFLICT (id), and no foreign key to the table. A statement that writes to several servers is committed on one
// after the other, and PREPARE TRANSACTION is refused. UPDATE of an id in a foreign partition runs there; the constraint of the table there is what
// keeps the row from leaving its bucket. A column with a default on the server only gets NULL through the head: defaults are the head's.
func (t Table) Foreign(servers map[string]Server) (*Fleet, error) {
	d, err := t.postgres()
	if err != nil {
		return nil, err
	}
	names, err := d.servers(servers)
	if err != nil {
		return nil, err
	}
	const pg = dialect.Postgres
	key := quote(pg, d.Key)
	f := &Fleet{Remote: map[string][]string{}, Install: []string{"CREATE EXTENSION IF NOT EXISTS postgres_fdw"}}
	for _, name := range names {
		f.Servers = append(f.Servers, servers[name].postgres(name)...)
	}
	f.Table = append(d.operators(), "CREATE TABLE "+d.own(d.name.Name)+" (\n"+d.Columns+"\n, CHECK ("+d.ids(key)+")\n)"+d.byHash())
	for i, p := range d.parts {
		if p.Database == "" {
			f.Table = append(f.Table, "CREATE TABLE "+d.own(p.Table(d.name.Name))+" PARTITION OF "+d.own(d.name.Name)+" (PRIMARY KEY ("+key+"))"+d.remainder(i))
			continue
		}
		name, schema := p.Table(d.name.Name), servers[p.Database].schema()
		if err := distinct(postgresLongest, name); err != nil {
			return nil, err
		}
		f.Remote[p.Database] = append(f.Remote[p.Database], d.create(quoteIn(pg, schema, name), key, d.check(key, p)))
		f.Table = append(f.Table, "CREATE FOREIGN TABLE "+d.own(d.foreign(p))+" PARTITION OF "+d.own(d.name.Name)+d.remainder(i)+
			" SERVER "+quote(pg, p.Database)+" OPTIONS (schema_name "+postgresText(schema)+", table_name "+postgresText(name)+")")
	}
	return f, nil
}

// foreign returns the name that a foreign partition has on the head.
func (d *division) foreign(p part) string { return d.name.Name + "_" + p.Name }

func (s Server) schema() string {
	if s.Schema == "" {
		return "public"
	}
	return s.Schema
}

// postgres returns the statements for a server with a name, and for the user there.
func (s Server) postgres(name string) []string {
	const pg = dialect.Postgres
	options := "dbname " + postgresText(s.Database)
	if s.Host != "" {
		options += ", host " + postgresText(s.Host)
	}
	if s.Port != 0 {
		options += fmt.Sprintf(", port '%d'", s.Port)
	}
	user := "user " + postgresText(s.User)
	if s.Password != "" {
		user += ", password " + postgresText(s.Password)
	}
	role := "CURRENT_USER"
	if s.Role != "" {
		role = quote(pg, s.Role)
	}
	return []string{
		"CREATE SERVER " + quote(pg, name) + " FOREIGN DATA WRAPPER postgres_fdw OPTIONS (" + options + ")",
		"CREATE USER MAPPING FOR " + role + " SERVER " + quote(pg, name) + " OPTIONS (" + user + ")",
	}
}
