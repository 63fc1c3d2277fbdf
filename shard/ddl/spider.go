package ddl

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createSpider has all rows on the other servers, and none on the head.
func (d *division) createSpider() (*Script, error) {
	s := &Script{Remote: map[string][]string{}, Install: []string{"INSTALL PLUGIN IF NOT EXISTS spider SONAME 'ha_spider'"}}
	if err := d.checkSpider(); err != nil {
		return nil, err
	}
	for _, server := range d.Servers {
		s.Servers = append(s.Servers, "CREATE SERVER "+dialect.MySQL.QuoteAny(server.Name)+" FOREIGN DATA WRAPPER mysql OPTIONS ("+server.mysql()+")")
	}
	for _, p := range d.parts {
		d.remoteSpider(s, p)
	}
	create, err := d.spider(d.name.Name)
	if err != nil {
		return nil, err
	}
	s.Table = []string{create}
	return s, nil
}

// spider returns the statement that makes the table of the head, with a name.
func (d *division) spider(name string) (string, error) {
	by, err := d.partitions(func(p part) string {
		return fmt.Sprintf(`server "%s", table "%s"`, d.Servers[p.server].Name, d.table(p))
	})
	key := dialect.MySQL.QuoteAny(d.Key)
	create := d.create(quoteIn(dialect.MySQL, d.name.Schema, name), key, "CHECK ("+d.ids(key)+")")
	return create + d.options() + ` ENGINE=SPIDER COMMENT='wrapper "mysql"'` + by, err
}

// growSpider moves the rows of the new shards through a second table of the head, which then takes the place of the first. Meanwhile there is no
// table of the name, so that nobody counts a row twice or writes one to where it is not looked for: under LOCK TABLES there is no RENAME.
func growSpider(from, to *division) (*Script, error) {
	if err := from.staysPut(); err != nil {
		return nil, err
	}
	const my = dialect.MySQL
	s := &Script{Remote: map[string][]string{}, After: map[string][]string{}}
	splits := from.splits(to)
	if len(splits) == 0 {
		return s, nil
	}
	grown, err := to.spider(to.name.Name + "_grown")
	if err != nil {
		return nil, err
	}
	in := func(name string) string { return quoteIn(my, to.name.Schema, name) }
	old, next, away := in(to.name.Name), in(to.name.Name+"_grown"), in(to.name.Name+"_shrunk")
	key := my.QuoteAny(to.Key)
	s.Table = []string{grown, "RENAME TABLE " + old + " TO " + away}
	for _, split := range splits {
		for _, p := range split.into[1:] {
			to.remoteSpider(s, p)
			of := " FROM " + away + " PARTITION (" + my.QuoteAny(split.from.partition()) + ") WHERE " + to.in(key, p)
			// On one server, so it happens all or not at all.
			s.Table = append(s.Table, "START TRANSACTION", "INSERT INTO "+next+" SELECT *"+of, "DELETE"+of, "COMMIT")
		}
		kept := split.into[0]
		name, constraint := to.constraint(my, kept)
		server := to.Servers[kept.server].Name
		s.After[server] = append(s.After[server], "ALTER TABLE "+my.QuoteAny(to.table(kept))+" DROP CONSTRAINT "+name+", ADD "+constraint)
	}
	s.Table = append(s.Table, "RENAME TABLE "+next+" TO "+old, "DROP TABLE "+away)
	return s, nil
}

// remoteSpider adds the statement that makes the table of a part on its server.
func (d *division) remoteSpider(s *Script, p part) {
	const my = dialect.MySQL
	_, constraint := d.constraint(my, p)
	server := d.Servers[p.server].Name
	s.Remote[server] = append(s.Remote[server], d.create(my.QuoteAny(d.table(p)), my.QuoteAny(d.Key), constraint)+d.options())
}

// checkSpider returns an error for names that the comment of a partition cannot have: there is no way to quote in it.
func (d *division) checkSpider() error {
	if err := d.checkServers(); err != nil {
		return err
	}
	for _, server := range d.Servers {
		if !dialect.ValidName(server.Name) || strings.Contains(server.Name, ".") {
			return fmt.Errorf("%w: Spider takes no server of the name %q, only letters, digits and underlines", ErrTable, server.Name)
		}
	}
	if strings.ContainsAny(d.name.Name, " \t\r\n\"'`\\,") {
		return fmt.Errorf("%w: Spider takes no table of the name %q, with a space, comma, quote or backslash", ErrTable, d.name.Name)
	}
	for _, p := range d.parts {
		if err := fits(mysqlLongest, d.table(p)+"_shard"); err != nil {
			return err
		}
	}
	return fits(mysqlLongest, d.name.Name+"_shrunk")
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
