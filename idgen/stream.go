package idgen

import (
	"context"
	"fmt"
)

// mostStreamBits is the most that the stream field of a generator has: 64 streams, of 64 bytes each.
const mostStreamBits = 6

// Streams returns how many streams the layout has for a generator, 0 where it has no stream field.
//
// A stream is a run of ids in ascending order. A database that keeps rows in the order of their keys appends to the run as long as the rows arrive in the
// order of their keys. So a writer takes a stream, makes its ids, sends its INSERT, and gives the stream back when the INSERT has ended:
//
//	stream := generator.TakeStream()
//	defer generator.ReturnStream(stream)
//	err := generator.FillIn(ctx, stream, ids)
//	// INSERT the rows with ids
//
// Next and Fill make ids of the lowest stream that nobody has taken, and take none: their ids are in order too, but rows of several writers arrive in any.
func (g *Snowflake) Streams() int { return int(g.streams) }

// TakeStream returns the number of the lowest free stream, so that at low traffic a process uses one. Where all streams are taken, writers share
// them, which costs packing in the database and nothing else. It never waits. The number is 0 for a layout without streams.
func (g *Snowflake) TakeStream() int64 {
	for i := range g.streams {
		if users := &g.sequencers[i].users; users.Load() == 0 && users.CompareAndSwap(0, 1) {
			return i
		}
	}
	if g.streams == 0 {
		return 0
	}
	stream := g.shared()
	g.sequencers[stream].users.Add(1)
	return stream
}

// shared returns each stream in turn.
func (g *Snowflake) shared() int64 { return g.sharing.Add(1) & (g.streams - 1) }

// lowestStream returns the lowest stream that nobody has, or where there is none each in turn.
func (g *Snowflake) lowestStream() int64 {
	for i := range g.streams {
		if g.sequencers[i].users.Load() == 0 {
			return i
		}
	}
	return g.shared()
}

// ReturnStream gives back a stream, once for each [Snowflake.TakeStream].
func (g *Snowflake) ReturnStream(stream int64) {
	if uint64(stream) < uint64(g.streams) {
		g.sequencers[stream].users.Add(-1)
	}
}

// NextIn returns a new id of a stream, greater than the last one of that stream. It waits and fails as [Snowflake.Next] does, each stream by itself. The
// error wraps [ErrRange] for a stream that the layout does not have. With a layout without streams it is Next, and the stream is 0.
func (g *Snowflake) NextIn(ctx context.Context, stream int64) (int64, error) {
	if uint64(stream) < uint64(g.streams) {
		return g.next(ctx, &g.sequencers[stream], stream<<(g.streamAt&63))
	}
	if err := g.checkStream(stream); err != nil {
		return 0, err
	}
	return g.Next(ctx)
}

// FillIn sets every element of ids to a new id of a stream, as [Snowflake.Fill] does. Its errors are those of NextIn.
func (g *Snowflake) FillIn(ctx context.Context, stream int64, ids []int64) error {
	if uint64(stream) < uint64(g.streams) {
		return g.fill(ctx, &g.sequencers[stream], stream<<(g.streamAt&63), ids)
	}
	if err := g.checkStream(stream); err != nil {
		return err
	}
	return g.Fill(ctx, ids)
}

func (g *Snowflake) checkStream(stream int64) error {
	if stream != 0 || g.streams > 0 {
		return fmt.Errorf("%w: stream %d, the generator's are 0 to %d", ErrRange, stream, max(0, g.streams-1))
	}
	return nil
}
