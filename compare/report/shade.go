package report

import (
	"fmt"
	"html/template"
	"strings"
)

// shade is a colour by its name in the style sheet, and what it is on a light and on a dark ground.
type shade struct{ name, light, dark string }

// The shades, by what they are for. All but the rules have a contrast of at least 3 to the ground, text of at least 4.5, on either. The hues
// are those that people with any of the usual kinds of colour blindness tell apart, and differ in lightness beside.
var shades = [...]shade{
	{"ground", "#ffffff", "#14181d"},
	{"ink", "#1b1f24", "#e8ebef"},
	{"quiet", "#57606a", "#a3adb8"},
	{"rule", "#dde1e6", "#303842"},
	{"counter", "#0067a8", "#5ab4ec"},
	{"uuid", "#c84e00", "#ff9147"},
	{"objectid", "#a03c8e", "#e58fd6"},
	{"ticket", "#8a6a00", "#e3c644"},
	{"snowflake", "#00795a", "#34c795"},
	{"own", "#4a4f57", "#c3c9d1"},
	{"bad", "#b3261e", "#ff8a80"},
}

// families are the kinds of keys that have a shade of their own, and the words in the names of their strategies, tried in this order.
var families = []struct {
	about, hue string
	words      []string
}{
	{"counters of the database", "counter", []string{"auto", "sequence", "serial", "identity"}},
	{"UUID", "uuid", []string{"uuid", "ulid", "guid"}},
	{"ObjectID", "objectid", []string{"objectid", "xid"}},
	{"tickets and blocks", "ticket", []string{"ticket", "replace", "flickr", "block", "segment"}},
	{"snowflake", "snowflake", []string{"snow", "fleet", "twitter", "leaf", "sharding", "k8s", "game", "sony"}},
	{"your own", "own", []string{""}},
}

// pageStyle is the style sheet of the page: the shades for both grounds, and the rest.
func pageStyle() template.CSS {
	var light, dark, hues strings.Builder
	for _, s := range shades {
		fmt.Fprintf(&light, "--%s:%s;", s.name, s.light)
		fmt.Fprintf(&dark, "--%s:%s;", s.name, s.dark)
		fmt.Fprintf(&hues, ".%s{color:var(--%[1]s)}\n", s.name)
	}
	return template.CSS(fmt.Sprintf(":root{color-scheme:light dark;%s}\n@media(prefers-color-scheme:dark){:root{%s}}\n%s%s", light.String(), dark.String(), hues.String(), pageCSS))
}

// fileStyle is the style sheet of a chart that is a file, on its own light ground: not all that show such files know variables.
func fileStyle() template.CSS {
	var hues strings.Builder
	for _, s := range shades {
		fmt.Fprintf(&hues, ".%s{color:%s}\n", s.name, s.light)
	}
	return template.CSS(hues.String())
}

// family is the index of a strategy's family.
func family(name string) int {
	for i, f := range families {
		for _, word := range f.words {
			if strings.Contains(name, word) {
				return i
			}
		}
	}
	return len(families) - 1
}
