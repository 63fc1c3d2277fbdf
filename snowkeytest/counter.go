package snowkeytest

import (
	"context"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
)

// Counter is a source of the keys 1, 2, 3 and so on. Its zero value is ready, and it is safe for concurrent use.
type Counter struct{ last atomic.Int64 }

var _ idgen.Source[int64] = (*Counter)(nil)

// Next returns the next number. It never fails.
func (c *Counter) Next(context.Context) (int64, error) { return c.last.Add(1), nil }

// Fill sets the elements to the next numbers. It never fails.
func (c *Counter) Fill(_ context.Context, keys []int64) error {
	first := c.last.Add(int64(len(keys))) - int64(len(keys))
	for i := range keys {
		keys[i] = first + int64(i) + 1
	}
	return nil
}

// Plugin returns the plugin with a [Counter] and further options. It sends no statement of its own, so that a mock of a database meets the
// application's alone. An upsert on MySQL that has to ask for the rows it met is an exception.
func Plugin(options ...gormplugin.Option) *gormplugin.Plugin {
	return gormplugin.New(append([]gormplugin.Option{gormplugin.From(new(Counter))}, options...)...)
}
