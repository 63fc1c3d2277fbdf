// Package pgxtype teaches pgx the keys of package sqltype: [Register], once for each connection.
//
//	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { // of a pgxpool.Config
//		pgxtype.Register(conn.TypeMap())
//		return nil
//	}
//
//	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error { // database/sql
//		pgxtype.Register(conn.TypeMap())
//		return nil
//	}))
//	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool})) // and GORM
//
// # What it guarantees
//
//   - sqltype.ID, every sqltype.Key and sqltype.PublicID, and sqltype.Number, pointers to them, and sql.Null of them go to and come from bigint columns, in
//     every query mode of pgx, in text and binary, with COPY too. So do slices and arrays of all of these, as bigint[].
//   - sqltype.UUID, every sqltype.UUIDKey and sqltype.PublicUUID go to and come from uuid columns in the same way, sqltype.ULID text columns, and their slices uuid[] and
//     text[]. A PublicUUID is its UUID here.
//   - One key is written into a buffer, and read, without an allocation, but for that of reading a UUID as text; only where pgx does not ask the server for the type of a
//     parameter, in the last two modes below, it calls Value.
//   - NULL is a nil pointer, or a sql.Null that is not valid. Read into a plain key it is an error that wraps sqltype.ErrNull.
//   - Values of all other types go to and come from bigint and text as before, also when the map already had other codecs for these.
//   - A column of another type that holds numbers or text takes and gives the same number or an error: integer refuses what has more than
//     32 bits, text holds the decimal number, read from char(n) without the spaces that fill it up, and a numeric with a fraction is
//     refused.
//
// Without it pgx calls the methods Value and Scan of a key. That works, but scanning allocates, and a slice of keys is refused in
// QueryExecModeExec and QueryExecModeSimpleProtocol, where pgx does not know the parameter's type.
//
// # What it does not do
//
//   - Through database/sql, and so GORM, pgx encodes the arguments, and slices of keys are arguments too. What is read comes through
//     Scan, as with every driver. GORM itself writes a slice out as a list, which is for IN and not for ANY.
//   - [pgtype.Map.SQLScanner] wants each type of slice by its name; that of []sqltype.ID it has. For another one:
//     m.RegisterDefaultPgType(new([]sqltype.Key[User]), "_int8").
//   - In QueryExecModeExec and QueryExecModeSimpleProtocol pgx does not know the parameter's type, and sends a key as the number's text.
//     It is for the server to say what a column makes of it that holds neither numbers nor text: for an interval '3' are three seconds.
//     The modes that ask for the type refuse it.
//   - In those two modes pgx refuses a [pgtype.Range], a [pgtype.Multirange] and a []any of keys, as it does with those of int64.
//   - Through database/sql a char(n) cannot be read: what comes to Scan does not say that its spaces are none of the text.
//   - A type of your own that is an ID underneath is none of its keys.
package pgxtype
