package catalog

// Readings calls all that reads definitions.
func Readings(sql string) []any {
	deferrable, deferred := sqliteDeferred(sql, 0)
	timing, of := sqliteTiming(sql)
	return []any{mysqlLiteral(sql, true), mysqlDeclared(sql), sqliteChecks(sql), sqliteRowless(sql), timing, of, deferrable, deferred}
}
