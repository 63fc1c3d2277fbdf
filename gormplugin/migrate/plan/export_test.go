package plan

// SQLiteCreate is sqliteCreate.
var SQLiteCreate = sqliteCreate
