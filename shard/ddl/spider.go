package ddl

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Spider returns the statements for a table on a MariaDB server, the head, whose rows are on other MariaDB or MySQL servers: the head has no rows,
// and Spider, a storage engine of MariaDB's (Debian's package mariadb-plugin-spider), asks the servers for them. The servers are given by the name
// that the map has for their database; every shard of the map needs one. A query by id asks one server.
//
// What to know of it: a statement that writes to several servers is committed on one after the other, so one that fails in between has written on
// some, unless spider_internal_xa is set. CREATE SERVER keeps passwords in the head's table mysql.servers, readable for its administrators.
// DROP TABLE on the head leaves the servers' tables and rows as they are.
//
// Names of databases of the map may have letters, digits and underlines, and those of tables no space, quote or backslash: Spider reads them from
// a comment in which these mean something else.
func (t Table) Spider(servers map[string]Server) (*Fleet, error) {
	d, err := t.division()
	if err != nil {
		return nil, err
	}
	names, err := d.servers(servers)
	if err != nil {
		return nil, err
	}
	if err := d.spiderNames(names); err != nil {
		return nil, err
	}
	const my = dialect.MySQL
	key := quote(my, d.Key)
	f := &Fleet{Remote: map[string][]string{}, Install: []string{"INSTALL PLUGIN IF NOT EXISTS spider SONAME 'ha_spider'"}}
	for _, name := range names {
		f.Servers = append(f.Servers, "CREATE SERVER "+quote(my, name)+" FOREIGN DATA WRAPPER mysql OPTIONS ("+servers[name].mysql()+")")
	}
	for _, p := range d.parts {
		f.Remote[p.Database] = append(f.Remote[p.Database], d.create(quote(my, p.Table(d.name.Name)), key, d.check(key, p))+d.options())
	}
	create := d.create(quoteIn(my, d.name.Schema, d.name.Name), key, "CHECK ("+d.ids(key)+")")
	f.Table = []string{create + d.options() + ` ENGINE=SPIDER COMMENT='wrapper "mysql"'` + d.partitions(func(p part) string {
		return fmt.Sprintf(`server "%s", table "%s"`, p.Database, p.Table(d.name.Name))
	})}
	return f, nil
}

// spiderNames returns an error for names that the comment of a partition cannot have.
func (d *division) spiderNames(servers []string) error {
	for _, name := range servers {
		if !dialect.ValidName(name) || strings.Contains(name, ".") {
			return fmt.Errorf("%w: Spider takes no server of the name %q, only letters, digits and underlines", ErrTable, name)
		}
	}
	for _, p := range d.parts {
		name := p.Table(d.name.Name)
		if p.Database == "" {
			return fmt.Errorf("%w: shard %s is in no named database; the head of Spider has no rows", shard.ErrMap, p.Name)
		}
		if strings.ContainsAny(name, " \t\r\n\"'`\\,") {
			return fmt.Errorf("%w: Spider takes no table of the name %q, with a space, comma, quote or backslash", ErrTable, name)
		}
		if err := distinct(mysqlLongest, name); err != nil {
			return err
		}
	}
	return distinct(mysqlLongest, d.name.Name)
}

// mysql returns the options of CREATE SERVER.
func (s Server) mysql() string {
	host := s.Host
	if host == "" {
		host = "localhost"
	}
	options := "HOST " + mysqlText(host) + ", DATABASE " + mysqlText(s.Database) + ", USER " + mysqlText(s.User)
	if s.Password != "" {
		options += ", PASSWORD " + mysqlText(s.Password)
	}
	if s.Port != 0 {
		options += fmt.Sprintf(", PORT %d", s.Port)
	}
	if s.Socket != "" {
		options += ", SOCKET " + mysqlText(s.Socket)
	}
	return options
}
