package catalog

import (
	"context"
	"strings"
)

func (s mysqlSource) current(ctx context.Context) (home, hidden string, err error) {
	found, err := s.texts(ctx, "SELECT DATABASE()")
	home = strings.Join(found, "")
	return home, home, err
}

// besides returns the options of tables and their partitions, which some an sql_mode hides from SHOW CREATE TABLE.
func (s mysqlSource) besides(ctx context.Context, tables []*Table) (map[*Table][]string, error) {
	found := map[*Table][]string{}
	for _, query := range []string{
		"SELECT TABLE_NAME, COALESCE(ROW_FORMAT, ''), COALESCE(TABLE_COLLATION, ''), COALESCE(CREATE_OPTIONS, ''), TABLE_COMMENT, '' FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?)",
		`SELECT TABLE_NAME, CONCAT(PARTITION_NAME, ' ', COALESCE(SUBPARTITION_NAME, '')), CONCAT(PARTITION_METHOD, ' ', COALESCE(SUBPARTITION_METHOD, '')), COALESCE(PARTITION_EXPRESSION, ''), COALESCE(SUBPARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, '')
			FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?) AND PARTITION_NAME IS NOT NULL ORDER BY TABLE_NAME, PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION`,
	} {
		err := s.eachOf(ctx, tables, query, func(scan func(...any) (*Table, error)) error {
			var of [5]string
			t, err := scan(&of[0], &of[1], &of[2], &of[3], &of[4])
			if err != nil {
				return err
			}
			of[2], of[3] = mysqlBackticks(of[2]), mysqlBackticks(of[3])
			found[t] = append(found[t], of[:]...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// stable also has quotes of one kind in statements that tables are made by, and in expressions of the server's making, which sql_mode
// ANSI_QUOTES changes. Others are in the words of who wrote them.
func (mysqlSource) stable(definition, current string) string {
	create := strings.HasPrefix(definition, "CREATE TABLE ")
	if create || !strings.HasPrefix(definition, "CREATE ") {
		definition = mysqlBackticks(definition)
	}
	if create {
		definition = mysqlDeclared(definition)
	}
	if current == "" {
		return definition
	}
	return strings.ReplaceAll(definition, quoteWith("`", current)+".", "")
}

// mysqlDeclared returns the statement that makes a table without the table's options, among which is the next number.
func mysqlDeclared(create string) string {
	for _, t := range mysqlGrammar.tokens(create) {
		if t.depth == 0 && t.is(")") {
			return create[:t.end]
		}
	}
	return create
}
