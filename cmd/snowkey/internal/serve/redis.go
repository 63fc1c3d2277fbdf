package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/redcon"
)

// The bytes of a connection of Redis's protocol.
const (
	longestCommand = 16 << 10
	flushAt        = 64 << 10 // of answers that wait to be sent
	largestAnswers = 256 << 10
)

// pause is how long nothing is accepted after a failure, such as of too many open files.
const pause = 50 * time.Millisecond

// serveRedis answers connections until the listener is closed.
func (s *Server) serveRedis(l *limited, secure bool) error {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			s.config.Logger.Warn("serve: no connection was accepted", "address", l.Addr().String(), "error", err)
			time.Sleep(pause)
			continue
		}
		c := s.session(s.secured(conn, secure))
		s.mu.Lock()
		isStopping := s.sessions == nil
		if !isStopping {
			s.sessions[c] = struct{}{}
			s.served.Go(c.run)
		}
		s.mu.Unlock()
		if isStopping {
			_ = conn.Close()
		}
	}
}

// session returns the session of a new connection.
func (s *Server) session(conn net.Conn) *session {
	return &session{server: s, conn: conn, began: time.Now(), authorized: s.config.Token == ""}
}

// session is a connection of Redis's protocol.
type session struct {
	server     *Server
	conn       net.Conn
	began      time.Time
	authorized bool
	quit       bool
	name       string
	counts     [4]uint64 // of results since they were last added to the metrics

	mu      sync.Mutex // guards what follows, and the deadline for reading
	isEnded bool
}

// end has the session end as soon as it has answered what has arrived.
func (c *session) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isEnded = true
	_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // fails for a connection that has ended
}

// read reads more bytes, until a deadline.
func (c *session) read(to []byte, deadline time.Time) (int, error) {
	c.mu.Lock()
	if c.isEnded {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	err := c.conn.SetReadDeadline(deadline)
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.conn.Read(to)
}

// run answers commands, as many as have arrived with one write, until the connection ends.
func (c *session) run() {
	defer func() {
		_ = c.conn.Close() // all answers were sent, or cannot be
		c.server.mu.Lock()
		delete(c.server.sessions, c)
		c.server.mu.Unlock()
	}()
	in, out := make([]byte, 0, longestCommand), []byte(nil)
	var args [][]byte
	var since time.Time // when the command that is not yet whole began to arrive
	for {
		rest := in
		for !c.quit {
			var whole bool
			var err error
			if whole, args, rest, err = readCommand(rest, args); err != nil {
				out, c.quit = redcon.AppendError(out, "ERR Protocol error: "+err.Error()), true
				break
			}
			if !whole {
				break
			}
			if len(args) > 0 {
				out = c.do(out, args)
			}
			if len(out) >= flushAt {
				if out = c.flush(out); out == nil {
					return
				}
			}
		}
		if len(out) > 0 {
			if out = c.flush(out); out == nil {
				return
			}
		}
		if c.quit {
			return
		}
		if len(rest) < len(in) || since.IsZero() {
			since = time.Now()
		}
		in = in[:copy(in[:cap(in)], rest)]
		deadline := since.Add(c.server.config.Idle)
		if len(in) > 0 {
			deadline = since.Add(timeToSend)
		}
		if late := c.began.Add(timeToSend); !c.authorized && late.Before(deadline) {
			deadline = late
		}
		n, err := c.read(in[len(in):cap(in)], deadline)
		if err != nil {
			return
		}
		if len(in) == 0 {
			since = time.Now()
		}
		in = in[:len(in)+n]
	}
}

// flush sends answers, and returns the room for others, or nil when the connection takes none.
func (c *session) flush(out []byte) []byte {
	for i, n := range c.counts {
		if n > 0 {
			c.server.metrics.redis[results[i]].Add(float64(n))
		}
	}
	c.counts = [4]uint64{}
	if err := c.conn.SetWriteDeadline(time.Now().Add(timeToTake)); err != nil {
		return nil
	}
	if _, err := c.conn.Write(out); err != nil {
		return nil
	}
	if cap(out) > largestAnswers {
		return []byte{}
	}
	return out[:0]
}

// results are those of metrics, in the order of the session's counts.
var results = [...]string{answered, wrong, unauthorized, unavailable}

var (
	errCommand = errors.New("want an array of bulk strings, or a line of words")
	errLong    = fmt.Errorf("a command has %d bytes at most", longestCommand)
)

// readCommand reads the next command. Of some malformed ones, such as *1\r\n$-2\r\n, ReadNextCommand of redcon v1.6.4 takes a slice out of bounds.
func readCommand(packet []byte, room [][]byte) (whole bool, args [][]byte, rest []byte, err error) {
	defer func() {
		if recover() != nil {
			whole, args, rest, err = false, room[:0], packet, errCommand
		}
	}()
	whole, args, kind, rest, err := redcon.ReadNextCommand(packet, room)
	switch {
	case err != nil || kind == redcon.Tile38:
		return false, args, packet, errCommand
	case !whole && len(packet) >= longestCommand:
		return false, args, packet, errLong
	}
	return whole, args, rest, nil
}

// fail appends an error and counts it.
func (c *session) fail(out []byte, result int, what string) []byte {
	c.counts[result]++
	return redcon.AppendError(out, what)
}

// The places of results in the session's counts.
const (
	isAnswered = iota
	isWrong
	isUnauthorized
	isUnavailable
)

const commands = "NEXT, DECODE, PING, ECHO, AUTH, HELLO, CLIENT, SELECT, INFO, COMMAND and QUIT"

// do appends the answer to a command.
func (c *session) do(out []byte, args [][]byte) []byte {
	name := strings.ToUpper(string(args[0]))
	if !c.authorized && name != "AUTH" && name != "HELLO" && name != "QUIT" {
		return c.fail(out, isUnauthorized, "NOAUTH Authentication required.")
	}
	c.counts[isAnswered]++
	switch words := len(args) - 1; {
	case name == "NEXT" && words <= 2:
		return c.next(out, args[1:])
	case name == "DECODE" && words == 1:
		line, err := c.server.config.Decode(string(args[1]))
		if err != nil {
			return c.wrong(out, err.Error())
		}
		return redcon.AppendBulkString(out, strings.TrimSuffix(line, "\n"))
	case name == "PING" && words == 0:
		return redcon.AppendString(out, "PONG")
	case name == "PING" && words == 1, name == "ECHO" && words == 1:
		return redcon.AppendBulk(out, args[1])
	case name == "AUTH" && words == 1:
		return c.auth(out, "default", args[1])
	case name == "AUTH" && words == 2:
		return c.auth(out, string(args[1]), args[2])
	case name == "HELLO":
		return c.hello(out, args[1:])
	case name == "CLIENT" && words > 0:
		return c.client(out, args[1:])
	case name == "SELECT" && words == 1:
		if string(args[1]) != "0" {
			return c.wrong(out, "DB index is out of range: there is database 0 alone")
		}
		return redcon.AppendOK(out)
	case name == "INFO":
		return redcon.AppendBulkString(out, c.info())
	case name == "COMMAND":
		return redcon.AppendArray(out, 0)
	case name == "QUIT":
		c.quit = true
		return redcon.AppendOK(out)
	case strings.Contains(", "+strings.ReplaceAll(commands, " and ", ", ")+",", ", "+name+","):
		return c.wrong(out, fmt.Sprintf("wrong number of arguments for '%s' command", strings.ToLower(name)))
	}
	return c.wrong(out, fmt.Sprintf("unknown command '%.40s'; there are %s", args[0], commands))
}

// wrong appends an error of the client's, to a command that counts as answered.
func (c *session) wrong(out []byte, what string) []byte {
	c.counts[isAnswered]--
	return c.fail(out, isWrong, "ERR "+what)
}

// next answers NEXT [n [prefix]]. Keys are texts: JavaScript's clients would round integers.
func (c *session) next(out []byte, args [][]byte) []byte {
	n, form := 1, appendBulkKey
	begin := len(out)
	if len(args) > 0 {
		var err error
		if n, err = c.server.checkCount(string(args[0])); err != nil {
			return c.wrong(out, err.Error())
		}
		out = redcon.AppendArray(out, n)
	}
	if len(args) > 1 {
		public, err := c.server.publicForm(string(args[1]))
		if err != nil {
			return c.wrong(out[:begin], err.Error())
		}
		form = func(b []byte, id int64) ([]byte, error) {
			text, err := public(nil, id)
			return redcon.AppendBulk(b, text), err
		}
	}
	out, err := c.server.appendKeys(c.server.base, out, n, form)
	if err != nil {
		c.counts[isAnswered]--
		return c.fail(out[:begin], isUnavailable, "UNAVAILABLE "+explain(err))
	}
	return out
}

func appendBulkKey(b []byte, id int64) ([]byte, error) { return redcon.AppendBulkInt(b, id), nil }

// auth answers AUTH. There is one user, that of Redis where none is named.
func (c *session) auth(out []byte, user string, token []byte) []byte {
	if c.server.config.Token == "" {
		return c.wrong(out, "this service has no token, and wants no AUTH")
	}
	if !c.authorize(user, token) {
		return c.refuseToken(out)
	}
	return redcon.AppendOK(out)
}

// authorize looks at a token. After a wrong one the session is authorized no more.
func (c *session) authorize(user string, token []byte) bool {
	c.authorized = c.server.isToken(string(token)) && (user == "default" || user == "")
	return c.authorized
}

// hello answers HELLO [version [AUTH user token] [SETNAME name]]. All other answers are alike in versions 2 and 3.
func (c *session) hello(out []byte, args [][]byte) []byte {
	version := 2
	if len(args) > 0 {
		switch string(args[0]) {
		case "2":
		case "3":
			version = 3
		default:
			c.counts[isAnswered]--
			return c.fail(out, isWrong, "NOPROTO unsupported protocol version")
		}
		args = args[1:]
	}
	for len(args) > 0 {
		switch word := strings.ToUpper(string(args[0])); {
		case word == "AUTH" && len(args) >= 3:
			if c.server.config.Token != "" && !c.authorize(string(args[1]), args[2]) {
				return c.refuseToken(out)
			}
			args = args[3:]
		case word == "SETNAME" && len(args) >= 2:
			c.name, args = string(args[1]), args[2:]
		default:
			return c.wrong(out, "syntax error in HELLO")
		}
	}
	if !c.authorized {
		c.counts[isAnswered]--
		return c.fail(out, isUnauthorized, "NOAUTH HELLO must be called with the client already authenticated, or with AUTH default TOKEN")
	}
	pairs := []struct{ name, text string }{{"server", "snowkey"}, {"version", c.server.config.Version}, {"mode", "standalone"}, {"role", "master"}}
	if version == 3 {
		out = append(append(append(out, '%'), strconv.Itoa(len(pairs)+3)...), "\r\n"...)
	} else {
		out = redcon.AppendArray(out, 2*(len(pairs)+3))
	}
	for _, pair := range pairs {
		out = redcon.AppendBulkString(redcon.AppendBulkString(out, pair.name), pair.text)
	}
	out = redcon.AppendInt(redcon.AppendBulkString(out, "proto"), int64(version))
	out = redcon.AppendInt(redcon.AppendBulkString(out, "id"), c.began.UnixNano())
	return redcon.AppendArray(redcon.AppendBulkString(out, "modules"), 0)
}

// refuseToken appends the error for a wrong token.
func (c *session) refuseToken(out []byte) []byte {
	c.counts[isAnswered]--
	return c.fail(out, isUnauthorized, "WRONGPASS invalid username-password pair; want the token of this service, and the user default")
}

// client answers what clients tell of themselves when they connect.
func (c *session) client(out []byte, args [][]byte) []byte {
	switch sub := strings.ToUpper(string(args[0])); {
	case sub == "SETINFO" && len(args) == 3:
		return redcon.AppendOK(out)
	case sub == "SETNAME" && len(args) == 2:
		c.name = string(args[1])
		return redcon.AppendOK(out)
	case sub == "GETNAME":
		return redcon.AppendBulkString(out, c.name)
	case sub == "ID":
		return redcon.AppendInt(out, c.began.UnixNano())
	}
	return c.wrong(out, fmt.Sprintf("unknown subcommand '%.40s' of CLIENT; there are SETINFO, SETNAME, GETNAME and ID", args[0]))
}

// info is what INFO answers. Clients look at loading, and wait while it is 1.
func (c *session) info() string {
	state, isReady := c.server.State(context.Background())
	loading := 1
	if isReady {
		loading = 0
	}
	return fmt.Sprintf("# Server\r\nserver_name:snowkey\r\nsnowkey_version:%s\r\nredis_mode:standalone\r\nstate:%s\r\n# Persistence\r\nloading:%d\r\n# Replication\r\nrole:master\r\n",
		c.server.config.Version, state, loading)
}
