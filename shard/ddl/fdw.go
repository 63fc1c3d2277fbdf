package ddl

import (
	"cmp"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

func (d *division) checkPostgresFDW() error {
	return cmp.Or(d.checkServers(), d.checkNames(postgresLongest, "_shard"))
}

// createPostgresFDW has the primary keys in the tables of the other servers: a table with foreign partitions has none.
func (d *division) createPostgresFDW() *Script {
	s := &Script{Remote: map[string][]string{}, Install: []string{"CREATE EXTENSION IF NOT EXISTS postgres_fdw"}}
	by := " PARTITION BY RANGE (" + dialect.Postgres.QuoteAny(d.Key) + ")"
	if !d.top {
		s.Install = append(s.Install, d.operators()...)
		by = d.byHash()
	}
	for _, server := range d.Servers {
		s.Servers = append(s.Servers, server.postgres()...)
	}
	s.Table = []string{d.unkeyed() + by}
	for _, p := range d.parts {
		d.remotePostgres(s, p)
		s.Table = append(s.Table, "CREATE FOREIGN TABLE "+d.own(d.table(p))+" PARTITION OF "+d.own(d.name.Name)+d.bounds(p)+d.at(p))
	}
	return s
}

// remotePostgres adds the statement that makes the table of a part on its server.
func (d *division) remotePostgres(s *Script, p part) {
	const pg = dialect.Postgres
	_, constraint := d.constraint(pg, p)
	server := d.Servers[p.server]
	s.Remote[server.Name] = append(s.Remote[server.Name], d.create(quoteIn(pg, server.schema(), d.table(p)), primary(pg.QuoteAny(d.Key)), constraint))
}

// at returns the clause that says where the table of a part is.
func (d *division) at(p part) string {
	server := d.Servers[p.server]
	return " SERVER " + dialect.Postgres.QuoteAny(server.Name) +
		" OPTIONS (schema_name " + postgresText(server.schema()) + ", table_name " + postgresText(d.table(p)) + ")"
}

func (s Server) schema() string {
	if s.Schema == "" {
		return "public"
	}
	return s.Schema
}

// postgres returns the statements for the server, and for the user there.
func (s Server) postgres() []string {
	const pg = dialect.Postgres
	options := "batch_size '1000', dbname " + postgresText(s.Database) // rows are sent one by one without it
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
		role = pg.QuoteAny(s.Role)
	}
	return []string{
		"CREATE SERVER IF NOT EXISTS " + pg.QuoteAny(s.Name) + " FOREIGN DATA WRAPPER postgres_fdw OPTIONS (" + options + ")",
		"CREATE USER MAPPING IF NOT EXISTS FOR " + role + " SERVER " + pg.QuoteAny(s.Name) + " OPTIONS (" + user + ")",
	}
}
