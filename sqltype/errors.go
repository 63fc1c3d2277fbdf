package sqltype

import "errors"

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the value that was wrong.
var (
	// ErrNull says that NULL or nothing was read into a key.
	ErrNull = errors.New("sqltype: NULL is no key, use a sql.Null of the key's type for a column that may be NULL")
	// ErrNoKey says that a row is to be created whose primary key is 0, where no plugin makes it one.
	ErrNoKey = errors.New("sqltype: the row has no key, and nothing makes one")
	// ErrNoSecret says that a [PublicID] or [PublicUUID] was to be converted before [UsePublicIDs] was called.
	ErrNoSecret = errors.New("sqltype: no secret for public ids; call sqltype.UsePublicIDs with a publicid.Codec when the program starts")
	// ErrSyntax says that a text or a value of a type is no key.
	ErrSyntax = errors.New("sqltype: not a key")
	// ErrRange says that a number does not fit 64 bits with sign.
	ErrRange = errors.New("sqltype: key out of range")
	// ErrPrecision says that a [Number] is too great to be a number in JSON: JavaScript would read another one.
	ErrPrecision = errors.New("sqltype: key too great for a number in JSON")
)
