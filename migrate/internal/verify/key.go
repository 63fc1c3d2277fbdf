package verify

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/plan"
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
	switch why := v.whyMissingPhase("the plan does not change who makes keys", "flip"); {
	case why != "":
		v.skip(auto, why)
	case v.dialect == dialect.SQLite:
		v.skip(auto, "SQLite numbers each row that comes without an INTEGER PRIMARY KEY, with AUTOINCREMENT and without it")
	default:
		v.compare(auto, "", c.Auto, "The database still makes keys, for rows that come without one.")
	}
	return nil
}

// checkType makes sure that a column can hold new ids.
func (v *verifier) checkType(c Check, column *catalog.Column) {
	if why := v.whyNotWidened(); why != "" {
		v.skip(c, why)
		return
	}
	wide := catalog.Misfit(column, 64) == "" || column.Class == catalog.JSON ||
		column.Class == catalog.Other && v.dialect == dialect.SQLite // such as a column without a type, which holds anything
	v.judge(c, wide, "64 bits, or 19 digits", column.Type, "New ids do not fit into the column.")
}

// checkMap looks at a map and its rows.
func (v *verifier) checkMap(ctx context.Context, k plan.Key) error {
	checks := []Check{{Name: "bijection", Table: k.Table, Column: k.Column}, {Name: "times", Table: k.Table, Column: k.Column}, {Name: "order", Table: k.Table, Column: k.Column}}
	a, why, err := v.audit(ctx, k)
	if err != nil {
		return err
	}
	if why != "" {
		for _, c := range checks {
			v.skip(c, why)
		}
		return nil
	}
	if err := v.bijection(ctx, checks[0], k, a); err != nil {
		return err
	}
	v.times(checks[1], k, a)
	if v.plan.Mode == plan.Shadow {
		v.skip(checks[2], "rows that came while second columns were filled have ids in the order of the database's sequence")
	} else {
		if a.Inverted > 0 {
			checks[2].Examples = []string{fmt.Sprintf("new id %d", a.FirstInverted)}
		}
		v.zero(checks[2], a.Inverted, "New ids are not in the order of when their rows were made and of their old ids: rows have changed places. Compare them with the map "+k.Map+" and with a backup.")
	}
	return nil
}

// audit reviews a key's map, once. It returns why it cannot.
func (v *verifier) audit(ctx context.Context, k plan.Key) (a mapping.Audit, why string, err error) {
	if k.Map == "" {
		return a, "its ids stay as they are", nil
	}
	if a, ok := v.audits[k.Table]; ok {
		return a, "", nil
	}
	why = v.whyMissing("the plan fills no map", func(s plan.Step) bool { return s.Do.Kind == plan.FillMap && s.Do.Table == k.Table })
	if why != "" {
		return a, why, nil
	}
	m, err := v.find(ctx, k.Map)
	if err != nil || m == nil {
		return a, dropped(k), err
	}
	if a, err = mapping.AuditMap(ctx, v.db, v.plan, k); err == nil {
		v.audits[k.Table] = a
	}
	return a, "", err
}

// skew is by how much the times of rows and ids may differ in mode shadow, where a trigger gives a row that says that it is of the future the time that it is.
const skew = time.Minute

// times judges the mistimed ids. In mode shadow a trigger makes the ids of rows that come before the swap, and gives those the database's time whose own cannot be had:
// it is to come, or is another row's. A row of a set that differs may have another time than it had, or belong to another row.
func (v *verifier) times(c Check, k plan.Key, a mapping.Audit) {
	if v.plan.Mode == plan.Shadow && a.Mistimed > 0 && a.Distance <= skew {
		c.Text = "Rows that came while second columns were filled said times that were to come, by less than a minute: their ids have the time of the database."
		v.judge(c, true, "within a minute", a.Distance.String(), "")
		return
	}
	of := fmt.Sprintf("of when their rows were made, by %s", k.Created)
	if k.Parent != "" {
		of = fmt.Sprintf("of the rows of %s that their rows belong to by %s", k.Parent, k.Through)
	}
	changed, taken := v.changes[k.Table]
	var doubtful, wrong []mapping.Pair
	for _, p := range a.Wrong {
		switch {
		case v.plan.Mode == plan.Shadow && taken && changed.explains(p.Old) && v.minted(p.New, changed.since):
		case taken && changed.explains(p.Old):
			doubtful = append(doubtful, p)
		default:
			wrong = append(wrong, p)
		}
	}
	beyond := a.Mistimed - int64(len(a.Wrong))
	switch {
	case len(wrong) > 0:
		c.Examples = pairs(append(wrong, doubtful...))
		v.judge(c, false, "0", fmt.Sprint(int64(len(wrong)+len(doubtful))+beyond), "New ids are not "+of+", though these rows are as they were when the digest was taken. Keep the map "+k.Map+", and do not go on.")
	case len(doubtful) > 0 || beyond > 0:
		c.Examples = pairs(doubtful)
		v.unknown(c, "0", fmt.Sprint(int64(len(doubtful))+beyond), "New ids are not "+of+", and these rows, or rows of the same sets, were changed since the digest was taken: the application has "+
			"changed their times or what they belong to, or the ids were wrong from the start. The map "+k.Map+" has the old ids: compare the times with a backup.")
	default:
		v.zero(c, 0, "")
	}
}

// pairs returns examples.
func pairs(list []mapping.Pair) (examples []string) {
	for _, p := range list[:min(len(list), mostExamples)] {
		examples = append(examples, fmt.Sprintf("new id %d, once %d", p.New, p.Old))
	}
	return examples
}

// minted reports whether an id has a time since the digest was taken, as those have that the database made.
func (v *verifier) minted(id int64, since time.Time) bool {
	layout, err := idgen.ParseLayout(v.plan.Layout)
	if err != nil {
		return false
	}
	parts, err := layout.Decode(id)
	return err == nil && parts.Time.After(since.Add(-skew)) && parts.Time.Before(time.Now().Add(skew))
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
	twice, err := v.count(ctx, "SELECT 2 * COUNT(*) - COUNT(DISTINCT old_id) - COUNT(DISTINCT new_id) FROM "+m)
	if err != nil {
		return err
	}
	var left, lost, first int64
	if v.whyNotRewritten() == "" {
		left = a.Old
		from := " FROM " + t + " t WHERE " + id + " < " + v.number(k.Below) + " AND NOT EXISTS (SELECT 1 FROM " + m + " m WHERE m.old_id = " + id + ")"
		if lost, first, err = v.countLeast(ctx, id, from); err != nil {
			return err
		}
	}
	var got []string
	says := func(n int64, text, example string, id int64) {
		if n == 0 {
			return
		}
		got = append(got, fmt.Sprintf("%d %s", n, text))
		if example != "" {
			c.Examples = append(c.Examples, fmt.Sprintf("%s %d", example, id))
		}
	}
	says(twice, "ids twice in the map", "", 0)
	says(a.Foreign, "new ids of another node", "new id", a.FirstForeign)
	says(a.Twice, "rows with both ids", "new id", a.FirstTwice)
	says(left, "rows with the old id still", "", 0)
	says(lost, "rows with ids of the old kind that the map does not have", "id", first)
	v.judge(c, len(got) == 0, "none", cmp.Or(strings.Join(got, ", "), "none"), fmt.Sprintf("The map %s has an id twice, or an old row is not at its new id alone; rows that the map does not have were written with such ids since it was filled: "+
		"give these new ids, and stop who writes them. Keep the map, and look at all of these rows before going on.", k.Map))
	return nil
}
