package report

import "strings"

// shade is a colour by its name in the style sheet, and what it is on a light and on a dark ground.
type shade struct{ name, light, dark string }

// The shades, by what they are for. All but the rules have a contrast of at least 3 to the ground, text of at least 4.5, on either. The hues
// are those that people with any of the usual kinds of colour blindness tell apart, and differ in lightness beside.
const (
	ground = iota
	ink
	quiet
	rule
	hueCounter
	hueUUID
	hueObjectID
	hueTicket
	hueSnowflake
	hueOwn
	bad
)

var shades = [...]shade{
	ground:       {"ground", "#ffffff", "#14181d"},
	ink:          {"ink", "#1b1f24", "#e8ebef"},
	quiet:        {"quiet", "#57606a", "#a3adb8"},
	rule:         {"rule", "#dde1e6", "#303842"},
	hueCounter:   {"counter", "#0067a8", "#5ab4ec"},
	hueUUID:      {"uuid", "#c84e00", "#ff9147"},
	hueObjectID:  {"objectid", "#a03c8e", "#e58fd6"},
	hueTicket:    {"ticket", "#8a6a00", "#e3c644"},
	hueSnowflake: {"snowflake", "#00795a", "#34c795"},
	hueOwn:       {"own", "#4a4f57", "#c3c9d1"},
	bad:          {"bad", "#b3261e", "#ff8a80"},
}

// families are the kinds of keys that have a hue of their own, and the words in the names of their strategies, tried in this order.
var families = []struct {
	about string
	hue   int
	words []string
}{
	{"counters of the database", hueCounter, []string{"auto", "sequence", "serial", "identity"}},
	{"UUID", hueUUID, []string{"uuid", "ulid", "guid"}},
	{"ObjectID", hueObjectID, []string{"objectid", "xid"}},
	{"tickets and blocks", hueTicket, []string{"ticket", "replace", "flickr", "block", "segment"}},
	{"snowflake", hueSnowflake, []string{"snow", "fleet", "twitter", "leaf", "sharding", "k8s", "game", "sony"}},
	{"your own", hueOwn, []string{""}},
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
