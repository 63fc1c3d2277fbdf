package strategy

import "context"

// autoIncrement leaves the keys to the database.
func autoIncrement() Strategy {
	return autoIncrements{Info{
		Name:         "autoincrement",
		About:        "64-bit numbers that the database counts as rows are inserted: what GORM does by default.",
		Origin:       "AUTO_INCREMENT of MySQL, bigserial of PostgreSQL, AUTOINCREMENT of SQLite",
		Needs:        "nothing but the one database that all rows are inserted into",
		Cost:         "a key is known only after the INSERT; each shard or server counts by itself, so tables cannot be split or merged without changing keys",
		Coordination: "none, as the database counts for all",
		Decodes:      "nothing but the order of the inserts",
		Guess:        "everything: the neighbours, and how many rows there are",
		Order:        Increasing,
	}}
}

type autoIncrements struct{ info Info }

func (a autoIncrements) Info() Info { return a.info }

func (a autoIncrements) Open(_ context.Context, at Environment) (Keys, error) {
	if err := at.check(); err != nil {
		return nil, err
	}
	return newKeys(nil, columnOf(func(id int64) int64 { return id })), nil
}
