package ddl

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/snowkey-go/snowkey/shard"
)

// points returns the least ids of all parts but the first, where an engine that divides a table by ranges of its primary key splits it. The error
// wraps [shard.ErrLayout] for a layout without the bucket on top, whose ids ascend: all new rows would go to the last range.
func (d *division) points() ([]int64, error) {
	if !d.top {
		return nil, fmt.Errorf("%w: %s has another field above the bucket, and %s divides a table by ranges of its primary key; take a layout as idgen.Scattered",
			shard.ErrLayout, d.Layout, d.engine)
	}
	var points []int64
	for _, p := range d.parts[1:] {
		points = append(points, d.least(p))
	}
	return points, nil
}

// newPoints returns the points of a division that another one does not have.
func newPoints(from, to *division) ([]int64, error) {
	old, err := from.points()
	if err != nil {
		return nil, err
	}
	points, err := to.points()
	return slices.DeleteFunc(points, func(p int64) bool { return slices.Contains(old, p) }), err
}

// rows returns points as rows of one column: (1), (2).
func rows(points []int64) (texts []string) {
	for _, p := range points {
		texts = append(texts, "("+strconv.FormatInt(p, 10)+")")
	}
	return texts
}
