package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// MakePlan plans for what a report has found. It reads the database, and writes nothing. The error is a [Blocked] with all that stands in the
// way, rows among it that cannot get new ids for their times are before the layout's epoch, in the future, missing or in an unknown zone: the times of
// all rows are read. Otherwise it wraps plan.ErrOption, or is the database's.
func MakePlan(ctx context.Context, db *gorm.DB, report *Report, o PlanOptions) (*Plan, error) {
	return makePlan(ctx, db, report, o, math.MaxInt64)
}

// readWhole is up to how many rows of a table Advise reads.
const readWhole = 10_000_000

// Advise returns nil when the plan can be made, and else what MakePlan does: what it promises a plan keeps. The times of tables with more than 10
// million rows are not looked at.
func Advise(ctx context.Context, db *gorm.DB, report *Report, o PlanOptions) error {
	_, err := makePlan(ctx, db, report, o, readWhole)
	return err
}

// makePlan plans, and looks at the times of tables of up to so many rows.
func makePlan(ctx context.Context, db *gorm.DB, report *Report, o PlanOptions, rows int64) (*Plan, error) {
	pool, d, err := database(db)
	if err != nil {
		return nil, err
	}
	p, err := plan.Make(ctx, pool, report, o)
	blocked := new(plan.Blocked)
	if err != nil && !errors.As(err, &blocked) {
		return nil, err
	}
	if p != nil {
		blocked.Draft = p
	}
	large := func(k plan.Key) bool {
		return slices.ContainsFunc(report.Tables, func(t inspect.Table) bool { return t.Name == k.Table && t.Rows > rows })
	}
	needs, err := times(ctx, pool, d, blocked.Draft, large)
	if err != nil {
		return nil, err
	}
	if blocked.Needs = append(blocked.Needs, needs...); len(blocked.Needs) > 0 {
		return nil, blocked
	}
	return p, nil
}

// times returns what stands in the way of new ids for the rows of a plan's keys, which may be a draft, but for those that are too large to look at.
func times(ctx context.Context, pool *sql.DB, d dialect.Dialect, p *Plan, large func(plan.Key) bool) (needs []plan.Need, err error) {
	surveys := map[string]mapping.Survey{}
	var earliest time.Time
	for _, k := range p.Keys {
		if k.Map == "" || k.Created == "" && k.Instant == nil || large(k) {
			continue
		}
		s, err := mapping.SurveyRows(ctx, pool, p, k)
		if err != nil {
			return nil, err
		}
		if surveys[k.Table] = s; !s.Earliest.IsZero() && (earliest.IsZero() || s.Earliest.Before(earliest)) {
			earliest = s.Earliest
		}
	}
	if len(surveys) == 0 {
		return nil, nil
	}
	layout, one := "", ""
	if !earliest.IsZero() {
		if layout, err = reaching(ctx, pool, d, p, earliest); err != nil {
			return nil, err
		}
	}
	if one, err = oneTime(p); err != nil {
		return nil, err
	}
	var early []string
	for _, k := range p.Keys {
		for _, r := range surveys[k.Table].Reasons(k) {
			n := plan.Need{Flag: "created", Value: k.Table + "=" + one}
			does := fmt.Sprintf("%s. Or --created %s=%s for one time of all its rows, or --created %[2]s=keep", r.Do, k.Table, one)
			switch {
			case r.Early && layout != "":
				early = append(early, fmt.Sprintf("%s (%d of %d rows)", k.Table, r.Count, surveys[k.Table].Rows))
				continue
			case r.Zone:
				n = plan.Need{Flag: "zone", Value: "UTC"}
				does = "name the zone that they were written in: --zone UTC, or one such as Asia/Shanghai"
			}
			n.Text = fmt.Sprintf("%s: %d of %d rows %s: %s.", k.Table, r.Count, surveys[k.Table].Rows, r.What, does)
			needs = append(needs, n)
		}
	}
	if len(early) > 0 {
		needs = append(needs, plan.Need{Flag: "layout", Value: layout, Text: fmt.Sprintf("%s: made before the epoch of the layout %s, the earliest at %s: --layout '%s', "+
			"which the program that fills keys has to have too. Or --created TABLE=%s for one time of all rows of a table, or --created TABLE=keep.",
			strings.Join(early, ", "), p.Layout, earliest.Format(time.DateTime), layout, one)})
	}
	return needs, nil
}

// oneTime returns a time for rows of which nobody knows when they were made: the first midnight whose ids do not count as old.
func oneTime(p *Plan) (string, error) {
	layout, err := idgen.ParseLayout(p.Layout)
	if err != nil {
		return "", err
	}
	return plan.OneTime(layout, p.Keys[0].Below).Format(time.RFC3339), nil
}

// reaching returns the plan's layout with the first of a January for an epoch from which ids reach back to a time, empty when there is none: the layout
// would end within ten years, or the key space has its layout already.
func reaching(ctx context.Context, pool *sql.DB, d dialect.Dialect, p *Plan, back time.Time) (string, error) {
	spaces, err := grant.SQL(pool, d, grant.WithTable(p.Grants)).Spaces(ctx)
	if err != nil && !errors.Is(err, grant.ErrTable) {
		return "", err
	}
	for _, s := range spaces {
		if s.Name == p.Space {
			return "", nil
		}
	}
	fields, _, _ := strings.Cut(p.Layout, ";")
	const most = 3 // years before the time's own: how much time a layout has ids for that count as old
	for year := back.Year(); year > back.Year()-most; year-- {
		text := fmt.Sprintf("%s;epoch=%04d-01-01T00:00:00Z", fields, year)
		layout, err := idgen.ParseLayout(text)
		if err != nil {
			return "", nil // an epoch that no layout has
		}
		least, err := layout.MinID(back.Add(-24 * time.Hour)) // whatever the zone is
		if err != nil || least <= p.Keys[0].Below {
			continue
		}
		if _, err := layout.MinID(time.Now().AddDate(10, 0, 0)); err != nil {
			return "", nil
		}
		return text, nil
	}
	return "", nil
}
