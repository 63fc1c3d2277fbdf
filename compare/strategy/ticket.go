package strategy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/ticket"
)

// tickets are the strategies of numbers that a database hands out.
func tickets() []Strategy {
	return []Strategy{
		New(Info{
			Name: "ticket",
			About: "64-bit numbers from a ticket server: for each key a REPLACE of the one row of a table, whose AUTO_INCREMENT is the key. The number is the table's " +
				"unique key and not its primary key, as was published, so that REPLACEs do not deadlock. On SQLite the same statement; on PostgreSQL, which has no " +
				"REPLACE, a SEQUENCE drawn so that a crash of the server gives no number twice.",
			Origin: "Flickr, “Ticket Servers: Distributed Unique Primary Keys on the Cheap”, 2010, with one server; here package ticket of this module",
			Needs:  "a server that waits for the disk at each commit, and the right to make two tables, on PostgreSQL a table and a SEQUENCE",
			Cost: "a round trip and a commit a key, for each row of a batch too; without the server there are no keys. On SQLite a key waits for whoever " +
				"writes to the file",
			Coordination: "all through the one server",
			Decodes:      "nothing but the order",
			Guess:        "everything: the neighbours, and how many keys were drawn",
			Order:        Increasing,
			RoundTrip:    true,
		}, openReplace),
		New(Info{
			Name: "flickr",
			About: "64-bit numbers from two ticket servers in turns, one with the odd and one with the even numbers, where either stands in for the other. On " +
				"PostgreSQL by SEQUENCEs with INCREMENT BY 2, on SQLite from two files.",
			Origin: "Flickr, “Ticket Servers: Distributed Unique Primary Keys on the Cheap”, 2010; here package ticket of this module",
			Needs:  "two servers of one kind; on MySQL and MariaDB with auto_increment_increment = 2 and auto_increment_offset = 1 and 2",
			Cost:   "a round trip and a commit a key, for each row of a batch too; two servers to keep",
			Coordination: "the list of the servers, in the same order everywhere, and the offset in each server's configuration; one that starts " +
				"without it gives no keys",
			Decodes:   "which server it came from, and roughly the order",
			Guess:     "everything: the neighbours, and how many keys were drawn",
			Order:     Unordered, // of one server they increase; the two are not in step
			Pair:      true,
			RoundTrip: true,
		}, openFlickr),
		New(Info{
			Name: "blocks",
			About: "64-bit numbers that are bought from the database in blocks of 1,024 and more, ahead of need, and given out from memory: one UPDATE for a " +
				"whole block, with LAST_INSERT_ID on MySQL and MariaDB, with RETURNING on PostgreSQL and SQLite.",
			Origin:       "Meituan's Leaf, segment mode, 2017, and Didi's Tinyid; here package ticket of this module",
			Needs:        "a server that waits for the disk at each commit, and the right to make two tables",
			Cost:         "a round trip and a commit a block; what is in memory when the process ends is never given out",
			Coordination: "all through the one server, once a block",
			Decodes:      "roughly the order: each process has blocks of its own",
			Guess:        "the neighbours, and roughly how many keys were made",
			Order:        Increasing,
		}, openBlocks),
		sequences(),
	}
}

// server is the environment's database as a ticket server.
func (p Environment) server() (ticket.Server, error) {
	d, err := p.dialect()
	return ticket.Server{DB: p.DB, Dialect: d}, err
}

// config is a source's, of a table. A call draws up to a thousand tickets one by one, which on a slow disk takes longer than the default.
func (p Environment) config(table string) ticket.Config {
	return ticket.Config{Table: p.name(table), Timeout: time.Minute}
}

func openReplace(ctx context.Context, at Environment) (idgen.Source[int64], error) {
	server, err := at.server()
	if err != nil {
		return nil, err
	}
	source, err := ticket.Replace(at.config("replace"), server)
	if err != nil {
		return nil, err
	}
	return ready(ctx, source, source.Servers)
}

func openFlickr(ctx context.Context, at Environment) (idgen.Source[int64], error) {
	first, err := at.server()
	if err != nil {
		return nil, err
	}
	if at.Pair == nil {
		return nil, lacks("it needs a second server of the same kind, so that one can stand in for the other")
	}
	second := ticket.Server{DB: at.Pair, Dialect: first.Dialect}
	source, err := ticket.Flickr(at.config("flickr"), first, second)
	if err != nil {
		return nil, err
	}
	return ready(ctx, source, source.Servers)
}

func openBlocks(ctx context.Context, at Environment) (idgen.Source[int64], error) {
	server, err := at.server()
	if err != nil {
		return nil, err
	}
	source, err := ticket.Blocks(ticket.BlockConfig{Config: at.config("blocks")}, server)
	if err != nil {
		return nil, err
	}
	if _, err := ready(ctx, source, source.Servers); err != nil {
		return nil, err
	}
	if err := source.Warm(ctx); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return source, nil
}

// closingSource is a source of package ticket.
type closingSource interface {
	idgen.Source[int64]
	Close() error
}

// ready sets a source's servers up, and returns it, or closes it. A server that is not used because of its settings is no failure: the environment
// has not what the strategy needs.
func ready(ctx context.Context, source closingSource, servers *ticket.Servers) (idgen.Source[int64], error) {
	err := servers.Setup(ctx)
	if err == nil {
		var findings []ticket.Finding
		findings, err = servers.Check(ctx)
		var refused []string
		for _, f := range findings {
			if f.Refused() {
				refused = append(refused, fmt.Sprintf("%s: %s", f.Server, f.Text))
			}
		}
		if err == nil && len(refused) > 0 {
			err = lacks("%s", strings.Join(refused, "; "))
		}
	}
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return source, nil
}
