package dbserver

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// patroniEngine is a node of PostgreSQL that Patroni makes, starts and ends. The server's command is Patroni, and PostgreSQL its orphan.
type patroniEngine struct {
	postgresEngine
	program string // the path of Patroni
	port    int    // of PostgreSQL
}

const patroniFile = "patroni.yml"

func (e patroniEngine) serve(_ programs, dir string, _ []string) []string {
	return []string{e.program, filepath.Join(dir, patroniFile)}
}

// leftovers are none: Patroni removes them.
func (patroniEngine) leftovers(string) []string { return nil }

// stopSignal has Patroni stop PostgreSQL, and give up the leader's key.
func (patroniEngine) stopSignal() syscall.Signal { return syscall.SIGTERM }

func (e patroniEngine) local(dir string) string {
	query := url.Values{"host": {dir}, "port": {strconv.Itoa(e.port)}, "user": {"postgres"}}
	return (&url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: query.Encode()}).String()
}

// StartPatroni starts a private node of PostgreSQL under Patroni, the program of that path, and returns when PostgreSQL answers, as a leader or as a replica. The
// configuration is made for the node's folder, where PostgreSQL has its socket, for its data folder, which is empty, and for the folder of PostgreSQL's programs. The port
// is the one that the configuration gives to PostgreSQL. Kill kills Patroni and PostgreSQL, and Stop ends both in good order.
func StartPatroni(ctx context.Context, program string, port int, configuration func(dir, data, bin string) string) (*Server, error) {
	return startEngine(ctx, patroniEngine{program: program, port: port}, nil, func(s *Server) error {
		text := configuration(s.guard.dir, s.guard.data(), filepath.Dir(s.programs.server))
		return os.WriteFile(filepath.Join(s.guard.dir, patroniFile), []byte(text), 0o644)
	})
}
