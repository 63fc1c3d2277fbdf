package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	defaultBelow  = 1 << 42
	defaultWindow = 10 * time.Second
	gatedWindow   = 2 * time.Second // where inserts are refused for as long
)

var validSpace = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,64}$`) // as package grant has it

// complete returns the options with their defaults, or an error that wraps ErrOption.
func (o Options) complete() (Options, error) {
	o.Mode, o.Layout, o.Below = cmp.Or(o.Mode, Widen), cmp.Or(o.Layout, idgen.Snowkey.Layout), cmp.Or(o.Below, defaultBelow)
	o.Grants, o.Space = cmp.Or(o.Grants, grant.DefaultTable), cmp.Or(o.Space, grant.DefaultSpace)
	if o.Window == 0 && o.Exclusive {
		o.Window = exclusiveWindow
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return o, o.check()
}

// check says which option cannot be.
func (o Options) check() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
	}
	least, err := o.Layout.MinID(o.Now)
	_, unknown := time.LoadLocation(o.Zone) // "" is UTC
	switch n := o.Layout.Generators(); {
	case o.Mode != Widen && o.Mode != Rekey && o.Mode != Shadow:
		return refuse("the mode %q is none of widen, rekey and shadow", o.Mode)
	case o.Exclusive && o.Mode != Rekey:
		return refuse("exclusive is for the mode rekey alone, and the mode is %s", o.Mode)
	case !dialect.ValidName(o.Grants):
		return refuse("the table of grants %q is not named by up to 63 letters, digits and underlines, with a schema and a dot before it or without", o.Grants)
	case !validSpace.MatchString(o.Space):
		return refuse("the key space %q is not 1 to 64 of a-z, A-Z, 0-9, dash, dot and underline", o.Space)
	case o.Below < 1:
		return refuse("below %d, must be more than 0", o.Below)
	case o.Window < 0:
		return refuse("the window %s is negative", o.Window)
	case strings.ContainsFunc(o.Tool, control):
		return refuse("the tool's name %q has control characters", o.Tool)
	case err != nil:
		return refuse("the layout %s has no ids for now: %v", o.Layout, err)
	case least <= o.Below:
		return refuse("below %d, which ids of the layout %s made now (%d) are themselves", o.Below, o.Layout, least)
	case unknown != nil:
		return refuse("the time zone %q: %v", o.Zone, unknown)
	case o.Mode == Widen:
		return nil
	case o.Layout.Bits(idgen.Shard) > 0:
		return refuse("the layout %s has shards, and old rows say nothing of theirs", o.Layout)
	case o.Layout.Band() > o.Layout.Unit():
		return refuse("the layout %s has the time in two places, and old rows get ids in the order of time; take the mode widen, or a layout with the time in one place", o.Layout)
	case n == 1:
		return refuse("the layout %s has one node, and old rows need one besides those that write", o.Layout)
	case o.Node != nil && (*o.Node < 0 || *o.Node >= n):
		return refuse("node %d, must be 0 to %d for the layout %s", *o.Node, n-1, o.Layout)
	}
	return nil
}

// control reports whether a character cannot be in the names of a plan: its file could not show it.
func control(r rune) bool {
	return r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfffd
}

// checkName refuses names that a plan's statements cannot have.
func checkName(name string) error {
	if name == "" || strings.ContainsFunc(name, control) {
		return fmt.Errorf("%w: the name %q is empty or has control characters: rename it first", ErrOption, name)
	}
	if mark := marked(name); mark != "" {
		return fmt.Errorf("%w: the name %q has %s in it, which stands for a number in a plan's statements: rename it first", ErrOption, name, mark)
	}
	return nil
}

// marked returns what a text has in it that stands for a number in a plan's statements, empty when it has nothing of that.
func marked(text string) string {
	for _, mark := range []string{":after", ":upto", ":rows"} {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return ""
}

var plainWord = regexp.MustCompile(`^[-+=:,./_a-zA-Z0-9]+$`)

// shellQuote returns a word as a POSIX shell reads it.
func shellQuote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
