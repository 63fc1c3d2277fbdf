package run

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// journalPrivileges are those that the journal needs.
var journalPrivileges = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"}

// privilege is a line of SHOW GRANTS: privileges on a database's tables, or on one of them.
type privilege struct {
	names         []string
	schema, table string // as the line has them: * stands for all, and a schema is a pattern
}

// mysqlRights compares SHOW GRANTS with what is needed of each table. What a role adds cannot always be seen, so that where one is
// granted and something seems to be missing, the statement itself will tell.
func (r *runner) mysqlRights(ctx context.Context) (missing []string, err error) {
	var current string
	if err := r.db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&current); err != nil {
		return nil, err
	}
	grants, roles, err := r.privileges(ctx)
	if err != nil {
		return nil, err
	}
	look := func(name catalog.Name, privileges []string) {
		schema := name.Schema
		if schema == "" {
			schema = current
		}
		var lacking []string
		for _, want := range privileges {
			if !slices.ContainsFunc(grants, func(p privilege) bool { return p.covers(want, schema, name.Name) }) {
				lacking = append(lacking, want)
			}
		}
		if len(lacking) > 0 && !roles {
			missing = append(missing, fmt.Sprintf("%s on the table %s", strings.Join(lacking, ", "), name))
		}
	}
	look(catalog.Name{Name: journal.PlansTable}, journalPrivileges)
	look(catalog.Name{Name: journal.StepsTable}, journalPrivileges)
	privileges := append([]string{"SELECT", "UPDATE"}, r.p.Privileges...)
	for _, name := range r.names {
		look(name, privileges)
	}
	trusted := slices.ContainsFunc(grants, func(p privilege) bool {
		return p.schema == "*" && slices.ContainsFunc(p.names, func(name string) bool { return slices.Contains(trust, name) })
	})
	if !trusted && !roles && slices.Contains(privileges, "TRIGGER") {
		var distrusts bool
		if err := r.db.QueryRowContext(ctx, "SELECT @@log_bin = 1 AND @@log_bin_trust_function_creators = 0").Scan(&distrusts); err != nil {
			return nil, err
		}
		if distrusts {
			missing = append(missing, "a trigger needs SUPER, or log_bin_trust_function_creators=1, while the server writes its binary log")
		}
	}
	return missing, nil
}

// trust are the privileges of a server that let a user make triggers while there is a binary log; which of them does it depends on the
// version.
var trust = []string{"SUPER", "ALL PRIVILEGES", "BINLOG ADMIN", "SET USER", "SET_USER_ID", "SET_ANY_DEFINER"}

// privileges reads SHOW GRANTS. roles reports whether a role is granted.
func (r *runner) privileges(ctx context.Context) (grants []privilege, roles bool, err error) {
	err = dialect.Each(ctx, r.db, "SHOW GRANTS", nil, func(rows *sql.Rows) error {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		p, ok := parseGrant(line)
		if ok {
			grants = append(grants, p)
		} else if strings.HasPrefix(line, "GRANT `") {
			roles = true
		}
		return nil
	})
	return grants, roles, err
}

// grantLine is "GRANT SELECT, INSERT (`a`) ON `schema`.`table` TO …".
var grantLine = regexp.MustCompile("^GRANT ([^`].*?) ON (\\*|`(?:[^`]|``)*`)\\.(\\*|`(?:[^`]|``)*`)")

// parseGrant reads a line of SHOW GRANTS. It is false for lines of another form.
func parseGrant(line string) (p privilege, ok bool) {
	found := grantLine.FindStringSubmatch(line)
	if found == nil {
		return p, false
	}
	for name := range strings.SplitSeq(found[1], ",") {
		if !strings.ContainsAny(name, "()") { // of some columns is not enough
			p.names = append(p.names, strings.TrimSpace(name))
		}
	}
	for i, into := range []*string{&p.schema, &p.table} {
		if *into = found[2+i]; *into != "*" {
			*into = strings.ReplaceAll((*into)[1:len(*into)-1], "``", "`")
		}
	}
	return p, true
}

// covers reports whether the line grants something on a table.
func (p privilege) covers(want, schema, table string) bool {
	return (slices.Contains(p.names, want) || slices.Contains(p.names, "ALL PRIVILEGES")) &&
		(p.schema == "*" || like(p.schema, schema)) && (p.table == "*" || strings.EqualFold(p.table, table))
}

// patternPart is a character of a pattern, with the \ before it.
var patternPart = regexp.MustCompile(`(?s)\\?.`)

// like reports whether a name is of a pattern with _ and %, and \ before those that stand for themselves; in any case of letters, as
// servers with lower_case_table_names have it.
func like(pattern, name string) bool {
	expression, err := regexp.Compile("(?is)^" + patternPart.ReplaceAllStringFunc(pattern, func(part string) string {
		switch part {
		case "%":
			return ".*"
		case "_":
			return "."
		case `\`:
			return `\\`
		}
		return regexp.QuoteMeta(strings.TrimPrefix(part, `\`))
	}) + "$")
	return err == nil && expression.MatchString(name)
}
