package ticket

// BlockSource is a [Buffer] of blocks of ids from [Servers].
type BlockSource struct {
	*Servers
	*Buffer
}

// Blocks returns a source that allocates blocks of ids from the servers ahead of need, and gives them out from memory. Its ids increase, also when they come from
// several servers. The servers need no settings for it, and take turns; the order of the list says which is which, and has to be the same everywhere.
//
// It does nothing yet: Setup makes what is missing, and the first call checks the servers and allocates. The error wraps [ErrConfig] or [ErrDialect].
func Blocks(config BlockConfig, servers ...Server) (*BlockSource, error) {
	config, err := config.complete(len(servers))
	if err != nil {
		return nil, err
	}
	s, err := newServers(config.Config, config.Unit, servers)
	if err != nil {
		return nil, err
	}
	return &BlockSource{s, newBuffer(config, s)}, nil
}
