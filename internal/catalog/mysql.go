package catalog

import (
	"context"
	"slices"
	"strings"
)

// mysqlSource reads the information_schema of MySQL and MariaDB, which shows what the user has some right on.
type mysqlSource struct{ reader }

func (mysqlSource) quote(part string) string { return quoteWith("`", part) }

func (s mysqlSource) quoted(n Name) string {
	if n.Schema == "" {
		return s.quote(n.Name)
	}
	return s.quote(n.Schema) + "." + s.quote(n.Name)
}

func (s mysqlSource) server(ctx context.Context) (Server, error) {
	found := Server{Kind: "mysql"}
	var version, comment string
	err := s.each(ctx, "SELECT VERSION(), @@version_comment, COALESCE(DATABASE(), '')", nil, func(scan func(...any) error) error {
		return scan(&version, &comment, &found.Name)
	})
	if err != nil {
		return Server{}, err
	}
	number, rest, _ := strings.Cut(version, "-")
	found.Version = "MySQL " + number
	if strings.Contains(rest, "MariaDB") || strings.Contains(comment, "MariaDB") || strings.Contains(strings.ToLower(comment), "mariadb") {
		found.Version = "MariaDB " + number
	}
	set := map[string]string{}
	err = s.each(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'hostname', 'port', 'datadir')", nil, func(scan func(...any) error) error {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return err
		}
		set[strings.ToLower(name)] = value
		return nil
	})
	switch {
	case set["server_uuid"] != "":
		found.ID = set["server_uuid"]
	case set["server_uid"] != "":
		found.ID = set["server_uid"] + ":" + set["datadir"] // of the network card and the port, which servers without one have the same
	default: // MariaDB before 10.5.26, 10.6.19 and 10.11.9
		found.ID = set["hostname"] + ":" + set["port"] + ":" + set["datadir"]
	}
	return found, err
}

func (s mysqlSource) list(ctx context.Context) ([]Name, error) {
	return s.names(ctx, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1")
}

func (s mysqlSource) outlines(ctx context.Context, names []Name) ([]*Table, error) {
	tables := make([]*Table, len(names))
	var schemas []string
	for _, n := range names {
		if !slices.Contains(schemas, n.Schema) {
			schemas = append(schemas, n.Schema)
		}
	}
	for _, schema := range schemas {
		args := []any{schema}
		for _, n := range names {
			if n.Schema == schema {
				args = append(args, n.Name)
			}
		}
		query := `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), TABLE_SCHEMA = DATABASE(), @@lower_case_table_names,
				COALESCE(CREATE_OPTIONS, '') LIKE '%partitioned%'
			FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, CONVERT('' USING utf8mb4)), DATABASE()) AND TABLE_NAME IN (?)`
		err := s.each(ctx, marks(query, len(args)-1), args, func(scan func(...any) error) error {
			t, fold, err := mysqlOutline(scan)
			for i, n := range names {
				// The comparison of information_schema knows no case; that of the server may.
				if n.Schema == schema && (t.Full.Name == n.Name || fold && strings.EqualFold(t.Full.Name, n.Name)) {
					tables[i] = t
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	all := merged(tables)
	if err := s.readColumns(ctx, all); err != nil {
		return nil, err
	}
	return tables, s.readIndexes(ctx, slices.DeleteFunc(all, func(t *Table) bool { return t.View != "" }))
}

// mysqlOutline reads a row of information_schema.TABLES, and whether names of tables know no case.
func mysqlOutline(scan func(...any) error) (t *Table, fold bool, err error) {
	t = &Table{Rows: -1, Bytes: -1}
	var kind string
	var current *bool // NULL without a current database
	var folding int
	var partitioned bool
	if err := scan(&t.Full.Schema, &t.Full.Name, &kind, &t.Engine, &current, &folding, &partitioned); err != nil {
		return t, false, err
	}
	t.Name = t.Full
	if current != nil && *current {
		t.Schema = ""
	}
	if partitioned {
		t.Related = "partitioned"
	}
	switch kind {
	case "BASE TABLE":
	case "SYSTEM VERSIONED":
		t.Versioned = true
	default:
		t.View = strings.ToLower(kind)
	}
	return t, folding != 0, nil
}

// merged returns tables, each once, in the places of names for the same one too, without those that are not there.
func merged(tables []*Table) (all []*Table) {
	for i, t := range tables {
		if t == nil {
			continue
		}
		if at := slices.IndexFunc(all, func(known *Table) bool { return known.Full == t.Full }); at >= 0 {
			tables[i] = all[at]
			continue
		}
		all = append(all, t)
	}
	return all
}

// marks returns a query with so many parameters in its IN (?).
func marks(query string, n int) string {
	return strings.ReplaceAll(query, "IN (?)", "IN (?"+strings.Repeat(", ?", n-1)+")")
}

// eachOf calls row for each row of a query that is about tables. The first column is the name of a row's table, and scan, which takes the
// others, returns that table. The parameters of the query are a schema, and in IN (?) the names of tables.
func (s mysqlSource) eachOf(ctx context.Context, tables []*Table, query string, row func(scan func(...any) (*Table, error)) error) error {
	schemas := map[string]map[string]*Table{}
	var order []string
	for _, t := range tables {
		if schemas[t.Full.Schema] == nil {
			schemas[t.Full.Schema] = map[string]*Table{}
			order = append(order, t.Full.Schema)
		}
		schemas[t.Full.Schema][t.Full.Name] = t
	}
	for _, schema := range order {
		args := []any{schema}
		for _, t := range tables {
			if t.Full.Schema == schema {
				args = append(args, t.Full.Name)
			}
		}
		err := s.each(ctx, marks(query, len(args)-1), args, func(scan func(...any) error) error {
			return row(func(into ...any) (*Table, error) {
				var name string
				if err := scan(append([]any{&name}, into...)...); err != nil {
					return nil, err
				}
				if t := schemas[schema][name]; t != nil {
					return t, nil
				}
				return &Table{}, nil // whose name is the same without its case: what is read goes nowhere
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s mysqlSource) readIndexes(ctx context.Context, tables []*Table) error {
	// MySQL has expressions since 8.0.13, and escapes the quotes in them. MariaDB takes what is marked so for a comment.
	return s.eachOf(ctx, tables, `SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE = 0, SEQ_IN_INDEX, COALESCE(COLUMN_NAME, ''), COALESCE(SUB_PART, 0), COALESCE(/*!80013 EXPRESSION, */ '')
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?) ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`,
		func(scan func(...any) (*Table, error)) error {
			var index, name string
			var part Part
			var unique bool
			var place int
			t, err := scan(&index, &unique, &place, &part.Column, &part.Length, &part.Expression)
			if err != nil {
				return err
			}
			if place == 1 || len(t.Indexes) == 0 {
				t.Indexes = append(t.Indexes, &Index{Name: index, Primary: index == "PRIMARY", Unique: unique, Valid: true})
			}
			if part.Length == 0 {
				name = part.Column
			}
			part.Expression = strings.ReplaceAll(part.Expression, `\'`, "'")
			last := t.Indexes[len(t.Indexes)-1]
			last.Columns, last.Parts = append(last.Columns, name), append(last.Parts, part)
			return nil
		})
}
