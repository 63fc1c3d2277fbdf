package dbtest

// DatabaseName is databaseName.
var DatabaseName = databaseName

// GiveUp is giveUp.
var GiveUp = giveUp
