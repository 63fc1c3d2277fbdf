package ticket

import (
	"maps"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ServerStats says how a server is doing.
type ServerStats struct {
	Name      string
	State     State
	Since     time.Time // it is in the state
	Place     string    // of its table, such as "app.public.snowkey_tickets"; empty before it was looked for
	Layout    string    // such as "1/2" for number 1 of two; empty before its first ticket
	Last      int64     // the greatest id that it gave to this source
	Used      float64   // Last as a part of all ids that there are, 0 to 1
	Draws     int64     // statements that succeeded
	Fences    int64     // how often it was moved forward
	Discarded int64     // ids that it may have given and nobody got, at most
	// Failures are the attempts that failed, by class.
	Failures map[Class]int64
	Err      error // the latest; nil where there was none
}

func (s *server) stats() ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := ServerStats{
		Name: s.name, State: s.state, Since: s.since, Last: s.last, Used: float64(s.last) / float64(s.limit),
		Draws: s.draws, Fences: s.fences, Discarded: s.discarded, Failures: maps.Clone(s.faults),
	}
	if s.place.At != (dialect.Place{}) {
		stats.Place = s.place.At.String()
	}
	if s.layout != (layout{}) {
		stats.Layout = s.layout.String()
	}
	if s.err != nil {
		stats.Err = s.err
	}
	return stats
}

// stats returns those of all servers.
func (s *Servers) stats() []ServerStats {
	all := make([]ServerStats, len(s.servers))
	for i, p := range s.servers {
		all[i] = p.stats()
	}
	return all
}
