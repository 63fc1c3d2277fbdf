package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/mapping"
	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// checkKey looks at the type of a key, and at who makes its values.
func (v *verifier) checkKey(ctx context.Context, k plan.Key) error {
	types := Check{Name: "types", Table: k.Table, Column: k.Column}
	auto := Check{Name: "auto-increment", Table: k.Table, Column: k.Column}
	t, err := v.table(ctx, k.Table)
	if err != nil {
		return err
	}
	c := t.Column(k.Column, false)
	if c == nil {
		v.judge(types, false, "64 bits", "no such column", "The table has no column of the key's name.")
		return nil
	}
	v.checkType(types, c)
	switch why := v.phases("the plan does not change who makes keys", "flip"); {
	case why != "":
		v.skip(auto, why)
	case v.dialect == dialect.SQLite && c.Auto != "AUTOINCREMENT":
		v.skip(auto, "SQLite numbers each row that comes without an INTEGER PRIMARY KEY")
	default:
		v.compare(auto, "", c.Auto, "The database still makes keys, for rows that come without one.")
	}
	return nil
}

// checkType makes sure that a column can hold new ids.
func (v *verifier) checkType(c Check, column *catalog.Column) {
	if why := v.widened(); why != "" {
		v.skip(c, why)
		return
	}
	wide := false
	switch column.Class {
	case catalog.Integer:
		wide = column.Bits >= 64
	case catalog.Decimal, catalog.Text:
		wide = column.Digits == 0 || column.Digits >= 19
	case catalog.JSON:
		wide = true
	case catalog.Other: // such as SQLite's columns without a type, which hold anything
		wide = v.dialect == dialect.SQLite
	}
	v.judge(c, wide, "64 bits, or 19 digits", column.Type, "New ids do not fit into the column.")
}

// checkMap looks at a map and its rows.
func (v *verifier) checkMap(ctx context.Context, k plan.Key) error {
	checks := []Check{{Name: "bijection", Table: k.Table, Column: k.Column}, {Name: "times", Table: k.Table, Column: k.Column}, {Name: "order", Table: k.Table, Column: k.Column}}
	why := v.missing("the plan fills no map", func(s plan.Step) bool { return s.Do.Kind == plan.Map && s.Do.Table == k.Table })
	if why == "" {
		m, err := v.find(ctx, k.Map)
		if err != nil {
			return err
		}
		if m == nil {
			why = dropped(k)
		}
	}
	if why != "" {
		for _, c := range checks {
			v.skip(c, why)
		}
		return nil
	}
	a, err := mapping.Review(ctx, v.db, v.plan, k)
	if err != nil {
		return err
	}
	if err := v.bijection(ctx, checks[0], k, a); err != nil {
		return err
	}
	v.times(checks[1], a)
	if v.plan.Mode == plan.Shadow {
		v.skip(checks[2], "rows that came while second columns were filled have ids in the order of the database's sequence")
	} else {
		v.zero(checks[2], a.Inverted, fmt.Sprintf("New ids, such as %d, are not in the order of when their rows were made and of their old ids.", a.FirstInverted))
	}
	return nil
}

// skew is by how much the times of rows and ids may differ in mode shadow, where a trigger gives a row that says that it is of the future the time that it is.
const skew = time.Minute

func (v *verifier) times(c Check, a mapping.Audit) {
	text := fmt.Sprintf("New ids, such as %d, are not of the time at which their rows were made; or the application has changed that time since.", a.FirstMistimed)
	if v.plan.Mode == plan.Shadow && a.Mistimed > 0 && a.Apart <= skew {
		c.Text = "Rows that came while second columns were filled said times that were to come, by less than a minute: their ids have the time of the database."
		v.judge(c, true, "within a minute", a.Apart.String(), "")
		return
	}
	v.zero(c, a.Mistimed, text)
}

// bijection checks a map, and what became of the rows that it is of.
func (v *verifier) bijection(ctx context.Context, c Check, k plan.Key, a mapping.Audit) error {
	m, err := v.quoted(k.Map)
	if err != nil {
		return err
	}
	t, err := v.quoted(k.Table)
	if err != nil {
		return err
	}
	id := "t." + v.catalog.Quote(k.Column)
	var twice, lost int64
	if twice, err = v.count(ctx, "SELECT 2 * COUNT(*) - COUNT(DISTINCT old_id) - COUNT(DISTINCT new_id) FROM "+m); err != nil {
		return err
	}
	rewritten := v.rewritten() == ""
	if rewritten {
		lost, err = v.count(ctx, "SELECT COUNT(*) FROM "+t+" t WHERE "+id+" < "+v.number(k.Below)+
			" AND NOT EXISTS (SELECT 1 FROM "+m+" m WHERE m.old_id = "+id+")")
		if err != nil {
			return err
		}
	}
	left := a.Old
	if !rewritten {
		left = 0
	}
	got := fmt.Sprintf("%d double, %d of another node, %d rows with both ids, %d with the old one, %d without a new one", twice, a.Foreign, a.Twice, left, lost)
	v.judge(c, twice == 0 && a.Foreign == 0 && a.Twice == 0 && left == 0 && lost == 0, "none", got,
		fmt.Sprintf("The map %s has an id twice, or an old row is not at its new id alone. Keep the map, and look at these rows before going on.", k.Map))
	return nil
}
