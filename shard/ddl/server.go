package ddl

import (
	"fmt"
	"strconv"
	"strings"
)

// Server is a database of another server, as the head reaches it. Of n shards on s servers, shard i is on server i % s with the bucket below the
// time, and on server i * s / n with the bucket on top; so shards that are split stay where they are.
type Server struct {
	Name     string // that the head gives it: letters, digits and underlines for Spider
	Host     string // a name or an address; PostgreSQL takes the folder of a socket too; empty: the head's machine
	Port     int    // 0: the usual one
	Socket   string // Spider: the file of a socket, with Host empty
	Database string
	Schema   string // PostgresFDW: of the tables there; empty: public
	User     string // there
	Password string `json:"-"`
	Role     string // PostgresFDW: the user of the head that may reach it so; empty: the one who runs the statements
}

// String returns where the server is, without the password.
func (s Server) String() string {
	at := s.Host
	if s.Socket != "" {
		at = s.Socket
	}
	if s.Port != 0 {
		at += ":" + strconv.Itoa(s.Port)
	}
	return s.Name + "=" + s.User + "@" + at + "/" + s.Database
}

// GoString is String: %#v does not print the password either.
func (s Server) GoString() string { return "ddl.Server{" + s.String() + "}" }

// checkServers returns an error unless there is a server for each shard, and each is complete.
func (d *division) checkServers() error {
	if len(d.Servers) == 0 || len(d.Servers) > d.Shards {
		return fmt.Errorf("%w: %d servers for %d shards of %s; want 1 to as many as there are shards", ErrTable, len(d.Servers), d.Shards, d.engine)
	}
	seen := map[string]bool{}
	for _, s := range d.Servers {
		switch {
		case s.Name == "" || seen[s.Name]:
			return fmt.Errorf("%w: the server %v has no name, or that of another one", ErrTable, s)
		case s.Database == "" || s.User == "":
			return fmt.Errorf("%w: the server %v has no database or user", ErrTable, s)
		case s.Port < 0 || s.Port > 65535:
			return fmt.Errorf("%w: the server %v has the port %d", ErrTable, s, s.Port)
		case strings.ContainsRune(s.Name+s.Host+s.Socket+s.Database+s.Schema+s.User+s.Password+s.Role, 0):
			return fmt.Errorf("%w: the server %v has a zero byte in one of its fields", ErrTable, s)
		}
		seen[s.Name] = true
	}
	return nil
}

// staysPut returns an error unless the parts that a part is split into are on its server, whose rows are then moved there alone.
func (d *division) staysPut() error {
	if d.Shards%len(d.Servers) != 0 {
		return fmt.Errorf("%w: %d shards on %d servers cannot be split in place; the shards have to be a multiple of the servers",
			ErrTable, d.Shards, len(d.Servers))
	}
	return nil
}
