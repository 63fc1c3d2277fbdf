package grant

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const (
	maxNumber = 1<<62 - 1
	maxHolder = 128
	maxLayout = 255
	mostSpace = 64
)

// validRows is a space, or the name that its rows have after changes of its layout.
var validRows = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,64}(~[1-9])?$`)

// CheckSpace refuses, for a [Store], a name that is none of a key space.
func CheckSpace(space string) error {
	if !validRows.MatchString(space) || len(space) > mostSpace {
		return errors.New("the space is not 1 to 64 of the characters a-z, A-Z, 0-9, dash, dot and underline")
	}
	return nil
}

// CheckLayout refuses, for a [Store], a text that cannot be a space's layout.
func CheckLayout(layout string) error {
	if len(layout) > maxLayout || !printable(layout) {
		return fmt.Errorf("the layout %q is not up to %d printable ASCII characters", layout, maxLayout)
	}
	return nil
}

// CheckSwap refuses, for a [Store], a new row that is not valid, and one that has the holder and the until of the old one: such a swap could be made twice,
// and a database that counts only the rows that became different would deny it.
func CheckSwap(old, new Row) error {
	switch {
	case old.Number != new.Number:
		return fmt.Errorf("the old row is of node %d", old.Number)
	case new.Number < 0 || new.Number > maxNumber:
		return errors.New("a node's number is 0 to 2^62-1")
	case new.From < 0 || new.From > new.Until || new.Until > Forever:
		return fmt.Errorf("ticks %d to %d are no range of ticks up to 2^62", new.From, new.Until)
	case new.Holder == Absent || len(new.Holder) > maxHolder || !printable(new.Holder):
		return fmt.Errorf("the holder %q is not up to %d printable ASCII characters, other than %q", new.Holder, maxHolder, Absent)
	case old.Holder == new.Holder && old.Until == new.Until:
		return errors.New("the new row has the holder and the until of the old one")
	}
	return nil
}

// printable reports whether the text has ASCII characters from space to tilde only.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
