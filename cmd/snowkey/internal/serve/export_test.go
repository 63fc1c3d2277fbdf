package serve

import "net"

// ReadCommand is readCommand.
var ReadCommand = readCommand

// LongestCommand is how many bytes a command has at most.
const LongestCommand = longestCommand

// TimeToSend is how long a client has to send a whole request.
const TimeToSend = timeToSend

// Converse answers a connection of Redis's protocol until its end, without a listener.
func Converse(config Config, conn net.Conn) {
	s := &Server{config: config, sessions: map[*session]struct{}{}}
	s.register()
	s.session(conn).run()
}

// Check returns what is wrong with a configuration.
func Check(c Config) error { return c.check() }

// Open returns how many connections are open.
func Open(s *Server) int64 { return s.limit.open.Load() }
