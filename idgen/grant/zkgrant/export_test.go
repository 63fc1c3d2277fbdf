package zkgrant

// Client is what a store uses of a connection.
type Client = client

// NewOn returns a store on something like a connection.
func NewOn(c Client, options ...Option) *Store { return newStore(c, options...) }
