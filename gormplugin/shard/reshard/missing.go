package reshard

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// statements returns those that make the table as another one of the same database; none fails when it was run before.
func (p *place) statements(c *catalog.Catalog, like *place) ([]string, error) {
	switch {
	case like.there.Related != "":
		return nil, fmt.Errorf("%w: %s is not there, and cannot be made as %s, which is %s: make it first", ErrPlan, p, like, like.there.Related)
	case c.Dialect() == dialect.MySQL:
		return []string{fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s LIKE %s", p.quoted, like.quoted)}, nil
	case c.Dialect() == dialect.Postgres:
		return []string{fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (LIKE %s INCLUDING ALL)", p.quoted, like.quoted)}, nil
	}
	return p.sqlite(c, like)
}

// The beginnings of what SQLite keeps of tables and indexes.
var (
	sqliteName  = `("(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|\[[^\]]*\]|'(?:[^']|'')*'|[\pL_][\pL\pN_$]*)`
	sqliteTable = regexp.MustCompile(`^CREATE TABLE ` + sqliteName + `\s*\(`)
	sqliteIndex = regexp.MustCompile(`^CREATE (UNIQUE )?INDEX ` + sqliteName + `\s+(?i:ON)\s+` + sqliteName + `\s*\(`)
)

// sqlite returns what SQLite keeps of another table, with this one's name in the place of its own.
func (p *place) sqlite(c *catalog.Catalog, like *place) ([]string, error) {
	cannot := func(sql string) error {
		return fmt.Errorf("%w: %s is not there, and cannot be made of what SQLite has of %s: run AutoMigrate with the shards of the next map first, or make it as\n%s", ErrPlan, p, like, sql)
	}
	old, create := like.there.Full.Name, like.there.Create
	qualified := regexp.MustCompile(`(?i)(^|[^\pL\pN_$])["'` + "`" + `\[]?` + regexp.QuoteMeta(old) + `["'` + "`" + `\]]?\s*\.`)
	at := sqliteTable.FindStringSubmatchIndex(create)
	if at == nil || !strings.EqualFold(unquote(create[at[2]:at[3]]), old) || qualified.MatchString(create[at[3]:]) {
		return nil, cannot(create)
	}
	list := []string{"CREATE TABLE IF NOT EXISTS " + p.quoted + create[at[3]:]}
	for _, index := range like.there.Indexes {
		if index.Definition == "" {
			continue // SQLite makes it itself
		}
		at := sqliteIndex.FindStringSubmatchIndex(index.Definition)
		if at == nil || !strings.EqualFold(unquote(index.Definition[at[6]:at[7]]), old) || qualified.MatchString(index.Definition[at[7]:]) {
			return nil, cannot(index.Definition)
		}
		name := strings.ReplaceAll(index.Name, old, p.name.Name)
		if name == index.Name {
			name += p.shard.Suffix
		}
		unique := ""
		if at[2] >= 0 {
			unique = "UNIQUE "
		}
		full := c.Quoted(catalog.Name{Schema: p.name.Schema, Name: name})
		list = append(list, fmt.Sprintf("CREATE %sINDEX IF NOT EXISTS %s ON %s%s", unique, full, c.Quote(p.name.Name), index.Definition[at[7]:]))
	}
	return list, nil
}

// unquote returns a name of SQLite's without quotes.
func unquote(name string) string {
	switch mark := name[0]; mark {
	case '"', '`', '\'':
		return strings.ReplaceAll(name[1:len(name)-1], string([]byte{mark, mark}), string(mark))
	case '[':
		return name[1 : len(name)-1]
	}
	return name
}
