package mapping

import "context"

// gaps finds free slots in a slot range whose last slot is taken, though others may not be: those who add pairs for rows that come, in mode shadow, do not
// take them in order.
type gaps struct {
	source *source
	slots  *nodeSlots
	next   int64 // where to look on
	end    int64 // where to stop: the slots from there on are given already
	taken  []int64
	ended  bool // no slot of the map's is beyond those of taken
}

// find returns the next free slot; false when there is none.
func (g *gaps) find(ctx context.Context, tx Tx) (slot int64, found bool, err error) {
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

// read reads the next slots that the map has.
func (g *gaps) read(ctx context.Context, tx Tx) error {
	s := statement{dialect: g.source.dialect}
	text := "SELECT new_id FROM " + g.source.maps + " WHERE new_id >= " + s.number(g.slots.id(g.next)) + " AND new_id <= " + s.number(g.slots.id(g.end-1)) +
		" ORDER BY new_id LIMIT " + s.number(pageRows)
	found, err := ids(ctx, tx, text, s.args)
	for _, id := range found {
		if slot, own := g.slots.slot(id); own {
			g.taken = append(g.taken, slot)
		}
	}
	g.ended = len(g.taken) < pageRows
	return err
}
