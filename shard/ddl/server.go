package ddl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/shard"
)

// Server is a database of another server, as the head, which is the one that clients connect to, reaches it.
type Server struct {
	Host     string // a name or an address; PostgreSQL takes the folder of a socket too; empty: the head's machine
	Port     int    // 0: the usual one
	Socket   string // Spider: the file of a socket, with Host empty
	Database string
	Schema   string // Foreign: of the tables there; empty: public
	User     string // there
	Password string `json:"-"`
	Role     string // Foreign: the user of the head that may reach it so; empty: the one who runs the statements
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
	return s.User + "@" + at + "/" + s.Database
}

// GoString is String: %#v does not print the password either.
func (s Server) GoString() string { return "ddl.Server{" + s.String() + "}" }

// Fleet has the statements that make a table over several servers, to run in the order of the fields: first those of all other servers, then the
// head's. Rows are written through the head, or to the table of their bucket.
type Fleet struct {
	Remote  map[string][]string // by the name that the map has for the database: its shards' tables, which refuse the rows of other buckets
	Install []string            // does nothing where it was done before; only an administrator may
	Servers []string            // with the passwords, so not to be logged; once for all tables of a head
	Table   []string
}

// servers returns the names of the databases that the parts are in, in their order, each once. Every one is in the map of servers, but for the
// head's own, which is "".
func (d *division) servers(of map[string]Server) ([]string, error) {
	var names []string
	seen := map[string]bool{"": true}
	for _, p := range d.parts {
		if seen[p.Database] {
			continue
		}
		seen[p.Database] = true
		s, ok := of[p.Database]
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: shard %s is in the database %s, and no server is given for it", shard.ErrMap, p.Name, p.Database)
		case s.Database == "" || s.User == "":
			return nil, fmt.Errorf("%w: the server of the database %s has no database or user: %v", ErrTable, p.Database, s)
		case s.Port < 0 || s.Port > 65535:
			return nil, fmt.Errorf("%w: the server of the database %s has the port %d", ErrTable, p.Database, s.Port)
		case strings.ContainsRune(s.Host+s.Socket+s.Database+s.Schema+s.User+s.Password+s.Role, 0):
			return nil, fmt.Errorf("%w: the server of the database %s has a zero byte in one of its fields", ErrTable, p.Database)
		}
		names = append(names, p.Database)
	}
	return names, nil
}
