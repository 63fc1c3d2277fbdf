package measure

import "errors"

// The errors of this package. What is returned wraps them with what was seen.
var (
	// ErrVerify says that a table does not hold, or does not give back, what was inserted. Nothing of its round is kept.
	ErrVerify = errors.New("compare: the rows are not all there")
	// ErrOption says that an option is out of its range.
	ErrOption = errors.New("compare: invalid option")
)

// Why figures are missing, where several measurements have the same reason.
const (
	databaseMakes = "the database makes the keys when rows are inserted"
	singleOnly    = "the source makes single keys only"
	fixedClock    = "its clock cannot be set, so its limit always counts"
	pastTheEnd    = "a clock that runs faster than the layout's limit runs past its last tick"
)

// fastClockNote is how figures were taken that no limit counts for.
const fastClockNote = "with a clock that runs faster than the layout's limit"
