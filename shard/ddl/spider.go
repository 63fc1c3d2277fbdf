package ddl

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createSpider has all rows on the other servers, and none on the head.
func (d *division) createSpider() *Script {
	s := &Script{Remote: map[string][]string{}, Install: []string{"INSTALL PLUGIN IF NOT EXISTS spider SONAME 'ha_spider'"}}
	for _, server := range d.Servers {
		s.Servers = append(s.Servers, "CREATE SERVER IF NOT EXISTS "+dialect.MySQL.QuoteAny(server.Name)+" FOREIGN DATA WRAPPER mysql OPTIONS ("+server.mysql()+")")
	}
	for _, p := range d.parts {
		d.remoteSpider(s, p)
	}
	s.Table = []string{d.spider(d.name.Name)}
	return s
}

// spider returns the statement that makes the table of the head, with a name.
func (d *division) spider(name string) string {
	key := dialect.MySQL.QuoteAny(d.Key)
	create := d.create(quoteIn(dialect.MySQL, d.name.Schema, name), primary(key), d.refusing(key))
	return create + d.options() + ` ENGINE=SPIDER COMMENT='wrapper "mysql"'` + d.partitions(d.comment)
}

// growSpider moves the rows of the new shards through a second table of the head, which then takes the place of the first. Meanwhile there is no
// table of the name, so that nobody counts a row twice or writes one to where it is not looked for: under LOCK TABLES there is no RENAME.
func growSpider(from, to *division) *Script {
	const my = dialect.MySQL
	s := &Script{Remote: map[string][]string{}, After: map[string][]string{}}
	splits := from.splits(to)
	if len(splits) == 0 {
		return s
	}
	in := func(name string) string { return quoteIn(my, to.name.Schema, name) }
	old, next, away := in(to.name.Name), in(to.name.Name+"_grown"), in(to.name.Name+"_shrunk")
	key := my.QuoteAny(to.Key)
	// A client that goes on after an error must not get on either, so what it must not do without the check depends on the variable.
	s.Table = []string{
		"SET @snowkey = (" + from.isDivided() + ")",
		only("@snowkey", "DO 0", to.name.Name+" is not divided as the flags of now say (shards, alone, servers)"), to.spider(to.name.Name + "_grown"),
		only("@snowkey", "RENAME TABLE "+old+" TO "+away, "nothing is moved"),
	}
	var moved []part
	for _, split := range splits {
		for _, p := range split.into[1:] {
			to.remoteSpider(s, p)
			moved = append(moved, p)
			of := " FROM " + away + " PARTITION (" + my.QuoteAny(split.from.partition()) + ") WHERE " + to.in(key, p)
			// On one server, so it happens all or not at all. ROW_COUNT() is -1 after an error. A DELETE with a JOIN on Spider ends MariaDB 10.11.19,
			// and one with a subquery sends each row by itself.
			s.Table = append(s.Table, "START TRANSACTION", "INSERT INTO "+next+" SELECT *"+of, "SET @snowkey = ROW_COUNT() >= 0",
				only("@snowkey", "DELETE"+of, "the INSERT failed"), "EXECUTE IMMEDIATE IF(@snowkey, 'COMMIT', 'ROLLBACK')")
		}
		kept := split.into[0]
		name, constraint := to.constraint(my, kept)
		server := to.Servers[kept.server].Name
		s.After[server] = append(s.After[server], "ALTER TABLE "+my.QuoteAny(to.table(kept))+" DROP CONSTRAINT "+name+", ADD "+constraint)
	}
	s.Table = append(s.Table, "SET @snowkey = (SELECT COUNT(*) = 0 FROM "+away+" WHERE "+to.inAny(key, moved)+")",
		only("@snowkey", "RENAME TABLE "+next+" TO "+old, to.name.Name+"_shrunk has rows to be moved"),
		only("@snowkey", "DROP TABLE "+away, to.name.Name+"_shrunk has rows to be moved"))
	return s.finish(my, resumeSpider)
}

const resumeSpider = "End the programs that use the table first. Each statement is done wholly or not at all, those from a START TRANSACTION to its COMMIT together. " +
	"When one fails: ROLLBACK, mend the cause (after one that a server has no table: DROP and CREATE the table that ends in _grown again), and go on with that statement, or from the START TRANSACTION before it; leave out those before, but for SET. " +
	"What is not moved yet is in the table that ends in _shrunk."

// only returns a statement that does another one if a variable is true, and fails with a message otherwise. There is no semicolon in it, at which
// clients would cut it.
func only(variable, statement, message string) string {
	if runes := []rune(message); len(runes) > 128 {
		message = string(runes[:128])
	}
	return "EXECUTE IMMEDIATE IF(" + variable + ", " + mysqlText(statement) + ", " + mysqlText("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = "+mysqlText(message)) + ")"
}

// isDivided returns a query for whether the head's table has the parts of the division, each at its server.
func (d *division) isDivided() string {
	schema := "DATABASE()"
	if d.name.Schema != "" {
		schema = mysqlText(d.name.Schema)
	}
	var parts []string
	for _, p := range d.parts {
		comment := []rune(d.comment(p)) // of which the column has 80 letters
		parts = append(parts, "("+mysqlText(p.partition())+", "+mysqlText(string(comment[:min(80, len(comment))]))+")")
	}
	return fmt.Sprintf("SELECT COUNT(*) = %d AND SUM((PARTITION_NAME, PARTITION_COMMENT) IN (%s)) = %[1]d FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = %[3]s AND TABLE_NAME = %[4]s",
		len(d.parts), strings.Join(parts, ", "), schema, mysqlText(d.name.Name))
}

// inAny returns the condition that an id is in one of the parts.
func (d *division) inAny(id string, parts []part) string {
	if !d.top { // one look at an id, however many parts
		var buckets []int64
		for _, p := range parts {
			buckets = append(buckets, d.listed(p)...)
		}
		return d.bucket(id) + " IN (" + list(buckets) + ")"
	}
	var conditions []string
	for _, p := range parts {
		conditions = append(conditions, "("+d.in(id, p)+")")
	}
	return strings.Join(conditions, " + ") + " > 0" // of OR Spider makes a query that the server refuses
}

// comment returns what has Spider find the table of a part.
func (d *division) comment(p part) string {
	return fmt.Sprintf(`server "%s", table "%s"`, d.Servers[p.server].Name, d.table(p))
}

// remoteSpider adds the statement that makes the table of a part on its server.
func (d *division) remoteSpider(s *Script, p part) {
	const my = dialect.MySQL
	_, constraint := d.constraint(my, p)
	server := d.Servers[p.server].Name
	s.Remote[server] = append(s.Remote[server], d.create(my.QuoteAny(d.table(p)), primary(my.QuoteAny(d.Key)), constraint)+d.options())
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
	return cmp.Or(d.checkNames(mysqlLongest, "_shard"), fits(mysqlLongest, d.name.Name+"_shrunk"), d.checkLists(mostBuckets))
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
