package mapping

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Examples are ids of rows, the least of each reason; 0 where there is none.
type Examples struct {
	Null       int64 `json:"null,omitempty"`
	Zero       int64 `json:"zero,omitempty"`
	Early      int64 `json:"early,omitempty"`
	Future     int64 `json:"future,omitempty"`
	Unreadable int64 `json:"unreadable,omitempty"`
	Inverted   int64 `json:"inverted,omitempty"`
	Crowded    int64 `json:"crowded,omitempty"`
	Clashing   int64 `json:"clashing,omitempty"`

	Text  string `json:"text,omitempty"`  // of Unreadable, where texts are read
	Local bool   `json:"local,omitempty"` // Text is a time without a zone, or one that the zone does not have
}

// Reason is why rows cannot get new ids.
type Reason struct {
	Count int64
	What  string // the rows, in words, with one of them
	Do    string // what to do, in words
	Early bool   // an earlier epoch settles it
	Zone  bool   // the zone of the times may settle it, which nobody has named
}

// Reasons returns why rows of a key cannot get new ids.
func (s Survey) Reasons(k plan.Key) []Reason {
	where := k.Created
	if k.Parent != "" {
		where = k.Parent + "." + k.Created
	}
	zone, unreadable := "say in which zone it was written", "whose time cannot be read, such as id %d"
	switch {
	case s.First.Text != "" && !s.First.Local:
		zone = "set " + where + " to a time such as 2025-01-31T00:00:00Z, or a number since 1970"
	case k.Zone != "":
		zone = "times without a zone are read as those of " + k.Zone + ": is it the zone that they were written in?"
	}
	if s.First.Text != "" {
		unreadable += ", " + strings.ReplaceAll(fmt.Sprintf("%.40q", s.First.Text), "%", "%%")
	}
	early := "made before the layout's epoch, such as id %d"
	if !s.Earliest.IsZero() {
		early += ", the earliest at " + s.Earliest.Format(time.DateTime)
	}
	var list []Reason
	for _, reason := range []struct {
		count, example int64
		what, do       string
	}{
		{s.Null, s.First.Null, "without a time, such as id %d", "set " + where + ", or give the table a time for all of its rows, or keep its ids"},
		{s.Zero, s.First.Zero, "with the zero time, such as id %d", "set " + where + " to a time"},
		{s.Early, s.First.Early, early, "choose a layout with an earlier epoch"},
		{s.Future, s.First.Future, "made later than now, such as id %d", "set " + where + " to a time that has been"},
		{s.Unreadable, s.First.Unreadable, unreadable, zone},
		{s.Crowded, s.First.Crowded, "more than the layout has ids for in the unit of time that they share, such as id %d", "choose a layout with more bits of sequence, or a column that is more exact"},
		{s.Clashing, s.First.Clashing, "whose new id is another row's, or below %%d as old ids are, such as id %d", "choose another node, an earlier epoch, or a lower limit of old ids"},
	} {
		if reason.count == 0 {
			continue
		}
		what := fmt.Sprintf(reason.what, reason.example)
		if strings.Contains(what, "%d") {
			what = fmt.Sprintf(what, k.Below)
		}
		list = append(list, Reason{reason.count, what, reason.do, strings.HasPrefix(reason.what, "made before"), k.Zone == "" && strings.HasPrefix(what, "whose time") && (s.First.Text == "" || s.First.Local)})
	}
	return list
}

// Refused returns nil, or an error that wraps ErrRefused and counts what is refused.
func (s Survey) Refused(k plan.Key) error {
	var list []string
	for _, r := range s.Reasons(k) {
		list = append(list, fmt.Sprintf("%d %s (%s)", r.Count, r.What, r.Do))
	}
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("%w: of %d of %s: %s", ErrRefused, s.Rows, k.Table, strings.Join(list, "; "))
}

// note counts a row whose time is not good.
func (s *Survey) note(m timestamp, id int64) {
	count, example := s.reason(m.state)
	if *count == 0 {
		*example = id
	}
	*count++
	if at := time.Unix(0, m.ns).UTC(); m.state == early && (s.Earliest.IsZero() || at.Before(s.Earliest)) {
		s.Earliest = at
	}
}

func (s *Survey) reason(state state) (count, example *int64) {
	switch state {
	case null:
		return &s.Null, &s.First.Null
	case zero:
		return &s.Zero, &s.First.Zero
	case early:
		return &s.Early, &s.First.Early
	case future:
		return &s.Future, &s.First.Future
	}
	return &s.Unreadable, &s.First.Unreadable
}
