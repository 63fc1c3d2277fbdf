package gormplugin

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/idgen"
)

var _ idgen.Source[int64] = (*Plugin)(nil)

// Next returns a key of the plugin's default source, for raw SQL and for rows that GORM does not create:
//
//	id, err := keys.Next(ctx)
//	err = db.Exec("INSERT INTO orders (id, item) VALUES (?, ?)", id, "tea").Error
//
// The error is the source's, or wraps [ErrSourcePanic]; or [ErrNoSource], of a source of UUIDs or ObjectIDs, and without [From] before db.Use.
func (p *Plugin) Next(ctx context.Context) (int64, error) {
	var keys [1]int64
	err := p.Fill(ctx, keys[:])
	return keys[0], err
}

// Fill sets every element to a key of the default source, in one call of it, for an INSERT of several rows. Its errors are those of Next. After an
// error the elements are what they were.
func (p *Plugin) Fill(ctx context.Context, keys []int64) error {
	p.mu.Lock()
	s := p.source
	p.mu.Unlock()
	switch {
	case s == nil:
		return fmt.Errorf("%w: register the plugin with db.Use, or give it a source with From", ErrNoSource)
	case s.width != 0:
		return fmt.Errorf("%w: the default one makes %s, no integers; call its own Next", ErrNoSource, s.describe())
	}
	made, err := s.batch(ctx, len(keys), nil, noStream)
	defer s.free(made)
	if err == nil {
		copy(keys, made.integers)
	}
	return err
}

// Layout returns the layout of the default source, which takes its keys apart: keys.Layout().Decode(order.ID.Int64()). A source that has none, and
// without [From] a plugin before db.Use, has the zero Layout, whose Decode returns [idgen.ErrLayout].
func (p *Plugin) Layout() idgen.Layout {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.source == nil {
		return idgen.Layout{}
	}
	layout, _ := p.source.layout()
	return layout
}
