package inspect

// Words, IDOf and Group are for tests.
var (
	Words = words
	IDOf  = idOf
	Group = group
)
