package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// longestColumns is how many bytes a file of columns can have.
const longestColumns = 1 << 20

func newDDLShard() *cobra.Command {
	c := &cobra.Command{
		Use:   "shard --engine NAME --table NAME --columns TEXT",
		Short: "Print the statements that make a sharded table, or give it more shards",
		Long: `Print the statements with which an engine makes a table that it divides by the bucket of the ids, ready to be pasted: comments say on
which server. With --grow they are those that turn the table, as the other flags describe it, into one of more shards; no id changes.
Nothing is run.

--columns or --columns-file has what CREATE TABLE has between its parentheses, in the SQL of the engine, with the key and without a primary key.
--server NAME=DSN, which may be given again, is another server of spider and postgres-fdw as the head reaches it; what is printed then has
the password. --server-file takes a line for each, and keeps the passwords out of the list of processes.

With the layout scattered (the default) the bucket is on top of an id, and an engine divides a table by ranges of ids; with sharded it is below
the time. docs/sharding.md says which engine wants which.`,
		Example: `  snowkey ddl shard --engine mysql --table orders --columns 'id BIGINT NOT NULL, user_id BIGINT NOT NULL, KEY (user_id)' --shards 4
  snowkey ddl shard --engine mysql --table orders --columns-file orders.txt --shards 4 --grow 8
  snowkey ddl shard --engine citus --table orders --sharding-key user_id --columns-file orders.txt --shards 32
  snowkey ddl shard --engine spider --table orders --columns-file orders.txt --server-file servers.txt`,
		Args: cobra.NoArgs,
	}
	divided := dividedFlags(c)
	flags := c.Flags()
	key := flags.String("key", "id", "column of the ids")
	by := flags.String("sharding-key", "", "column that the bucket is made from, such as user_id; citus needs it")
	columns := flags.String("columns", "", "columns and indexes of the table")
	file := flags.String("columns-file", "", `file of what --columns takes, "-" for standard input`)
	options := flags.String("options", "", "what CREATE TABLE has after its parentheses on MySQL, such as DEFAULT CHARSET=utf8mb4")
	grow := flags.Int("grow", 0, "print how the table gets this many shards, a multiple of --shards")
	growAlone := flags.Int64Slice("grow-alone", nil, "print how these buckets get a shard of their own")
	named := addDSN(c, dsnFlag{name: "server", about: "another server, as NAME=DSN", several: true})
	asJSON := flags.Bool("json", false, "print a JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error {
		engine, table := divided()
		table.Key, table.ShardingKey, table.Columns, table.Options = *key, *by, *columns, *options
		if flags.Changed("columns-file") {
			if flags.Changed("columns") {
				return usageError{errors.New("--columns and --columns-file: give one of them")}
			}
			var err error
			if table.Columns, err = readColumns(c, *file); err != nil {
				return usageError{fmt.Errorf("--columns-file: %w", err)}
			}
		}
		servers, err := named.read(c)
		if err != nil {
			return err
		}
		for _, s := range servers {
			server, kind, err := parseServer(s.text)
			if want := serverKind[engine]; err == nil && want != "" && kind != want {
				err = fmt.Errorf("%s: %s takes servers of %s, and this one is of %s", server.Name, engine, want, kind)
			}
			if err != nil {
				return usageError{fmt.Errorf("%s: %w", s.from, err)}
			}
			table.Servers = append(table.Servers, server)
		}
		var script *ddl.Script
		if flags.Changed("grow") || flags.Changed("grow-alone") {
			if !flags.Changed("grow") {
				*grow = table.Shards
			}
			script, err = table.Grow(engine, *grow, *growAlone...)
		} else {
			script, err = table.Create(engine)
		}
		if err != nil {
			return usageError{err}
		}
		if *asJSON {
			return newJSON(c.OutOrStdout()).Encode(script)
		}
		return writeScript(c.OutOrStdout(), script, table.Servers)
	}
	return c
}

// readColumns returns what is in a file.
func readColumns(c *cobra.Command, path string) (string, error) {
	in, err := openInput(c, "--columns-file", path)
	if err != nil {
		return "", err
	}
	defer in.Close() // of reading: its error changes nothing
	text, err := io.ReadAll(io.LimitReader(in, longestColumns+1))
	if len(text) > longestColumns {
		err = errors.Join(err, fmt.Errorf("%s has more than %d bytes, which are no columns", path, longestColumns))
	}
	return strings.TrimSpace(string(text)), err
}

// serverKind is what the other servers of an engine are.
var serverKind = map[ddl.Engine]string{ddl.Spider: dsn.MySQL, ddl.PostgresFDW: dsn.Postgres}

// parseServer reads NAME=DSN, and returns the kind of the server too. The error has no password.
func parseServer(text string) (_ ddl.Server, kind string, _ error) {
	name, at, found := strings.Cut(text, "=")
	if !found || strings.ContainsAny(name, ":@/") { // a DSN without a name
		return ddl.Server{}, "", errors.New("want NAME=DSN, such as east=mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE")
	}
	parsed, err := dsn.Parse(at)
	if err != nil {
		return ddl.Server{}, "", fmt.Errorf("%s: %w", name, err)
	}
	s := ddl.Server{Name: name}
	switch parsed.Kind {
	case dsn.MySQL:
		config, err := mysql.ParseDSN(parsed.Source)
		if err != nil {
			return s, parsed.Kind, fmt.Errorf("%s: %w", name, err)
		}
		s.Database, s.User, s.Password = config.DBName, config.User, config.Passwd
		if config.Net == "unix" {
			s.Socket = config.Addr
			return s, parsed.Kind, nil
		}
		host, port, err := net.SplitHostPort(config.Addr)
		if err == nil {
			s.Host = host
			s.Port, err = strconv.Atoi(port)
		}
		return s, parsed.Kind, err
	case dsn.Postgres:
		config, err := pgx.ParseConfig(parsed.Source)
		if err != nil {
			return s, parsed.Kind, fmt.Errorf("%s: %s cannot be read", name, parsed)
		}
		s.Host, s.Port, s.Database, s.User = config.Host, int(config.Port), config.Database, config.User
		if u, err := url.Parse(parsed.Source); err == nil { // a password from the environment stays there
			if s.Password, _ = u.User.Password(); s.Password == "" {
				s.Password = u.Query().Get("password")
			}
		}
		return s, parsed.Kind, nil
	}
	return s, parsed.Kind, fmt.Errorf("%s: %s is no server", name, parsed)
}

// writeScript writes statements with a semicolon each, under comments that say where they run, in their order.
func writeScript(w io.Writer, s *ddl.Script, servers []ddl.Server) error {
	var sections []string
	section := func(where string, statements []string) {
		if len(statements) > 0 {
			sections = append(sections, where+strings.Join(statements, ";\n")+";\n")
		}
	}
	elsewhere := func(statements map[string][]string, when string) {
		for _, server := range servers {
			section(fmt.Sprintf("-- On %s, %s:\n", oneLine(server.String()), when), statements[server.Name])
		}
	}
	if len(s.Notes) > 0 {
		notes := ""
		for _, note := range s.Notes {
			notes += "-- " + oneLine(note) + "\n"
		}
		sections = append(sections, notes)
	}
	elsewhere(s.Remote, "first")
	section("-- On the head, by an administrator, once:\n", s.Install)
	section("-- On the head, once for all its tables (again it does nothing), with the passwords of the others:\n", s.Servers)
	head := ""
	if len(s.Install)+len(servers) > 0 {
		head = "-- On the head:\n"
	}
	section(head, s.Table)
	elsewhere(s.After, "last")
	if len(sections) == 0 {
		sections = []string{"-- Nothing to do.\n"}
	}
	_, err := io.WriteString(w, strings.Join(sections, "\n"))
	return err
}
