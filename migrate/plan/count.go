package plan

import (
	"encoding/json"
	"errors"
	"fmt"
)

// RowsOf is what a Count step's query for the number of a table's rows is about, as Each has it. Package verify finds what was there
// before by it, and by the two that follow.
func RowsOf(table string) string { return "rows of " + table }

// OrphansOf is what the query for how many values of a reference are keys of no row is about.
func OrphansOf(r Reference) string { return "orphans of " + r.String() }

// OrphansByKey is what the query for how many rows of a table break a foreign key of it is about.
func OrphansByKey(foreignKey, table string) string {
	return fmt.Sprintf("orphans by the foreign key %s of %s", foreignKey, table)
}

// String returns the reference's column, the place in it, whose rows are meant, and the table that it refers to.
func (r Reference) String() string {
	text := r.Table + "." + r.Column
	if r.Path != "" {
		text += ":" + r.Path
	}
	if r.OwnerType != "" {
		text += " (" + r.Owner + ")"
	}
	return text + " → " + r.To
}

// Found returns the numbers of a Count as the journal has them; Numbers reads them again.
func Found(numbers []int64) (string, error) {
	text, err := json.Marshal(numbers)
	return string(text), err
}

// Numbers returns what the queries of a Count have found, by Each, of what the journal has. It fails for what is not one number for each.
func (a *Action) Numbers(found string) (map[string]int64, error) {
	var numbers []int64
	if err := json.Unmarshal([]byte(found), &numbers); err != nil {
		return nil, fmt.Errorf("plan: what was counted is no list of numbers: %q: %w", found, err)
	}
	if len(numbers) != len(a.Each) {
		return nil, fmt.Errorf("plan: %d numbers were counted, of %d: %q", len(numbers), len(a.Each), found)
	}
	by := make(map[string]int64, len(numbers))
	for i, each := range a.Each {
		by[each] = numbers[i]
	}
	return by, nil
}

// Asks returns an error when a Count, Expect or Steady has not a name for each of its queries, or one twice.
func (a *Action) Asks() error {
	if len(a.SQL) == 0 || len(a.Each) != len(a.SQL) {
		return fmt.Errorf("want queries, and in Each what each of them is about; got %d and %d", len(a.SQL), len(a.Each))
	}
	if len(a.Remedy) > 0 && len(a.Remedy) != len(a.SQL) {
		return errors.New("want a Remedy for each of the queries, or none")
	}
	seen := map[string]bool{}
	for _, each := range a.Each {
		if each == "" || seen[each] {
			return fmt.Errorf("two queries are about %q, or one about nothing", each)
		}
		seen[each] = true
	}
	return nil
}
