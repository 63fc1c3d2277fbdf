package redisgrant

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// digits returns a number from 0 as the scripts compare it.
func digits(n int64) string { return fmt.Sprintf("%019d", n) }

// parseListing reads the answer of listScript, and takes the rows from least to most.
func parseListing(answer any, least, most int64) (l grant.Listing, err error) {
	values, ok := answer.([]any)
	if !ok || len(values) != 2 && len(values) != 7 {
		return l, unexpected(answer)
	}
	number := func(v any) (n int64) {
		text, ok := v.(string)
		parsed, failed := strconv.ParseInt(text, 10, 64)
		if !ok || failed != nil {
			err = unexpected(v)
		}
		return parsed
	}
	l.Now = time.Unix(number(values[0]), number(values[1])*1000).UTC()
	if len(values) == 2 {
		return l, err
	}
	l.Mark, l.Absent = number(values[3]), number(values[4])
	var named, counted, listed bool
	var fields []any
	l.ID, named = values[2].(string)
	l.Gone, counted = values[5].(int64)
	fields, listed = values[6].([]any)
	if !named || !counted || !listed || len(fields)%2 != 0 {
		return grant.Listing{}, unexpected(answer)
	}
	for field := range slices.Chunk(fields, 2) {
		name, _ := field[0].(string)
		value, _ := field[1].(string)
		if slices.Contains(header, name) {
			continue
		}
		row, failed := parseRow(name, value)
		if failed != nil {
			return grant.Listing{}, failed
		}
		if least <= row.Number && row.Number <= most {
			l.Rows = append(l.Rows, row)
		}
	}
	slices.SortFunc(l.Rows, func(a, b grant.Row) int { return cmp.Compare(a.Number, b.Number) })
	if err != nil {
		return grant.Listing{}, err
	}
	return l, nil
}

// header are the fields of a space's hash that are no rows.
var header = []string{"id", "layout", "mark", "made", "absent", "moved"}

// parseRow reads the field of a number.
func parseRow(name, value string) (row grant.Row, err error) {
	parts := strings.SplitN(value, " ", 4)
	if len(parts) == 4 {
		var errs [3]error
		row.Holder = parts[3]
		row.Number, errs[0] = strconv.ParseInt(name, 10, 64)
		row.Until, errs[1] = strconv.ParseInt(parts[0], 10, 64)
		row.From, errs[2] = strconv.ParseInt(parts[1], 10, 64)
		if errs == [3]error{} {
			return row, nil
		}
	}
	return grant.Row{}, fmt.Errorf("%w: the field %q has %q, which is no row", grant.ErrStore, name, value)
}

// parseLoss reads an entry of a list of losses.
func parseLoss(text string) (loss grant.Loss, err error) {
	parts := strings.SplitN(text, " ", 5)
	if len(parts) == 5 {
		var errs [3]error
		loss.Holder = parts[4]
		loss.Number, errs[0] = strconv.ParseInt(parts[1], 10, 64)
		loss.From, errs[1] = strconv.ParseInt(parts[2], 10, 64)
		loss.Until, errs[2] = strconv.ParseInt(parts[3], 10, 64)
		if errs == [3]error{} {
			return loss, nil
		}
	}
	return grant.Loss{}, fmt.Errorf("%w: the list of losses has %q, which is none", grant.ErrStore, text)
}

func unexpected(answer any) error {
	return fmt.Errorf("%w: the server answered %v", grant.ErrStore, answer)
}
