package mapping

import (
	"context"
	"database/sql"
)

// gaps finds free places in a room whose last place is taken, though others may not be: those who add pairs for rows that come, in mode shadow, do not
// take them in order.
type gaps struct {
	source *source
	space  *space
	next   int64 // where to look on
	end    int64 // where to stop: the places from there on are given already
	taken  []int64
	ended  bool // no place of the map's is beyond those of taken
}

// find returns the next free place; false when there is none.
func (g *gaps) find(ctx context.Context, tx Tx) (place int64, found bool, err error) {
	for ; g.next < g.end; g.next++ {
		if len(g.taken) == 0 && !g.ended {
			if err := g.read(ctx, tx); err != nil {
				return 0, false, err
			}
		}
		if len(g.taken) == 0 || g.taken[0] > g.next {
			g.next++
			return g.next - 1, true, nil
		}
		g.taken = g.taken[1:]
	}
	return 0, false, nil
}

// read reads the next places that the map has.
func (g *gaps) read(ctx context.Context, tx Tx) error {
	s := statement{dialect: g.source.dialect}
	text := "SELECT new_id FROM " + g.source.maps + " WHERE new_id >= " + s.number(g.space.id(g.next)) + " AND new_id <= " + s.number(g.space.id(g.end-1)) +
		" ORDER BY new_id LIMIT " + s.number(pageRows)
	err := each(ctx, tx, text, s.args, func(rows *sql.Rows) error {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if place, own := g.space.place(id); own {
			g.taken = append(g.taken, place)
		}
		return nil
	})
	g.ended = len(g.taken) < pageRows
	return err
}
