package dbtest

// DatabaseName is databaseName.
var DatabaseName = databaseName

// AccountName is accountName.
var AccountName = accountName

// GiveUp is giveUp.
var GiveUp = giveUp
