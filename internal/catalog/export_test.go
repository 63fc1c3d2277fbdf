package catalog

// Spans returns where the tokens of a statement begin and end, in each grammar.
func Spans(sql string) (found [][][2]int) {
	for _, g := range []grammar{mysqlGrammar, sqliteGrammar, postgresGrammar, {}} {
		var spans [][2]int
		for _, t := range g.tokens(sql) {
			spans = append(spans, [2]int{t.start, t.end})
		}
		found = append(found, spans)
	}
	return found
}

// Readings calls all that reads definitions.
func Readings(sql string) []any {
	deferrable, deferred := sqliteDeferred(sql, 0)
	timing, of := sqliteTiming(sql)
	return []any{mysqlBackticks(sql), mysqlLiteral(sql, true), mysqlDeclared(sql), mysqlGrammar.declarations(sql), sqliteChecks(sql), sqliteGenerated(sql, "a"),
		sqliteWhere(sql), sqliteRowless(sql), timing, of, sqliteAuto(sql), deferrable, deferred, mysqlSequence(sql, "s")}
}
