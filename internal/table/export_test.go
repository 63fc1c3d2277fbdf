package table

// Readings calls all that reads definitions.
func Readings(sql string) []any {
	return []any{Backticks(sql), sqliteGenerated(sql, "a"), sqliteWhere(sql), sqlitePart(sql, 0, "a"), sqliteAuto(sql), mysqlSequence(sql, "s")}
}
