package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// GuardVariable is the user variable of MariaDB's sessions that keeps guarded triggers from firing, where it is not NULL.
const GuardVariable = "@snowkey_rekey"

// Guarded is how the text of a guarded trigger's body begins, in information_schema.TRIGGERS.
const Guarded = "IF " + GuardVariable + " IS NULL THEN"

// mysqlMaking is under what a trigger was made, and what the user may do.
type mysqlMaking struct {
	mode, client, collation, definer string
	mariadb, own, may                bool // own: the definer is the user; may: the user makes triggers of this definer
}

// unreadable are the parts of sql_mode under which no run reads its journal and the schema.
var unreadable = []string{"NO_FIELD_OPTIONS", "NO_TABLE_OPTIONS", "NO_KEY_OPTIONS", "MYSQL323", "MYSQL40", "EMPTY_STRING_IS_NULL", "HIGH_NOT_PRECEDENCE"}

// guard finds the Guard of a trigger of MariaDB that an UPDATE fires, or says why there is none. SHOW CREATE TRIGGER has neither FOLLOWS nor PRECEDES, and a trigger
// that is replaced goes to the end of its order: so they name its neighbour.
func (s mysqlSource) guard(t *Table, i int, m mysqlMaking) (g *Guard, why string) {
	trigger := t.Triggers[i]
	if !m.mariadb || trigger.Definition == "" || trigger.Timing != "BEFORE UPDATE" && trigger.Timing != "AFTER UPDATE" {
		return nil, ""
	}
	body := -1
	tokens := sqltoken.MySQL.Tokens(trigger.Definition)
	for n := 2; n < len(tokens) && body < 0 && !tokens[n].Is("EXISTS"); n++ { // IF NOT EXISTS does not go with OR REPLACE
		if tokens[n-2].Is("FOR") && tokens[n-1].Is("EACH") && tokens[n].Is("ROW") {
			body = tokens[n].End
		}
	}
	mode := slices.IndexFunc(unreadable, func(word string) bool { return slices.Contains(strings.Split(m.mode, ","), word) })
	ascii := func(text string) bool { return strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }) < 0 }
	switch {
	case !m.may:
		return nil, fmt.Sprintf("its definer is %s, and who replaces it needs to be that user, or the privilege SET USER", m.definer)
	case t.Schema != "":
		return nil, "its table is of another schema than the current one"
	case mode >= 0:
		return nil, "it was made under the sql_mode " + unreadable[mode]
	case !strings.HasPrefix(m.client, "utf8") && (m.client != "latin1" || !ascii(trigger.Definition) || !ascii(t.Full.String())):
		return nil, "it was made with the character_set_client " + m.client
	case !strings.HasPrefix(trigger.Definition, "CREATE ") || body < 0, strings.Contains(trigger.Definition, GuardVariable):
		return nil, "its text has IF NOT EXISTS, or " + GuardVariable
	}
	head, rest, order := "CREATE OR REPLACE "+trigger.Definition[len("CREATE "):body], trigger.Definition[body:], ""
	if i > 0 && t.Triggers[i-1].Timing == trigger.Timing {
		order = " FOLLOWS " + s.Quote(t.Triggers[i-1].Name)
	} else if i+1 < len(t.Triggers) && t.Triggers[i+1].Timing == trigger.Timing {
		order = " PRECEDES " + s.Quote(t.Triggers[i+1].Name)
	}
	return &Guard{
		Session: []string{fmt.Sprintf("SET SESSION sql_mode = '%s', character_set_client = %s, collation_connection = %s", m.mode, m.client, m.collation)},
		// What follows a comment at the body's end is on a line of its own.
		On:  head + order + " " + Guarded + rest + "\n; END IF",
		Off: head + order + rest,
	}, ""
}
