package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/cmd/snowkey/internal/serve"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/publicid"
)

// tokenVariable is the environment variable that has the token of clients.
const tokenVariable = "SNOWKEY_TOKEN"

// graceToStop is how long connections have to end after the drain. A keeper has ten seconds more to give its number back.
const graceToStop = 15 * time.Second

func newServe() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Give keys to programs in other languages, over HTTP and Redis's protocol",
		Long: `Give keys to programs in other languages. Over HTTP:

  GET /id             a key; with ?n=1000 so many, one a line; with ?prefix=ord public ids
                      Accept: application/json has texts in JSON, application/octet-stream 8 bytes a key, the highest first
  GET /id/ID          the parts of a key as JSON, as "snowkey decode --json" has them
  GET /ready, /live   for probes, without a token
  GET /metrics        for Prometheus

Over Redis's protocol, for any client of Redis: NEXT, NEXT 1000, NEXT 1000 ord, DECODE ID, PING, AUTH.

The node number is granted in the database or store, as that of any other process, and given back at the end. With --node,
--datacenter or both as well, it is just that number, and a second process with it is refused. With --node and neither database nor
store nothing checks the number: nobody else may use it, and the clock must not be set back between two runs.

SIGTERM or an interrupt: /ready says 503 at once, the service goes on for --drain, ends its connections, and gives its number back. A
second signal ends it at once.

Addresses are HOST:PORT, :PORT for all interfaces, or unix:PATH. The first line of --token-file, or else the environment variable SNOWKEY_TOKEN, is
the token that clients show: "Authorization: Bearer TOKEN", or AUTH TOKEN. Addresses that other machines reach need one, or --without-token.`,
		Example: `  SNOWKEY_DB=postgres://app:secret@127.0.0.1:5432/app snowkey serve
  snowkey serve --db sqlite:app.db --http 127.0.0.1:8080 --redis 127.0.0.1:6380
  snowkey serve --store-file /run/secrets/etcd --http :8443 --token-file /run/secrets/token --tls-cert tls.crt --tls-key tls.key
  snowkey serve --node 7 --redis unix:/run/snowkey/redis.sock`,
		Args: cobra.NoArgs,
	}
	named, stored := databaseFlag(c), storeFlag(c)
	table := c.Flags().String("table", grant.DefaultTable, "table that the grants are in, of a database")
	space := c.Flags().String("space", grant.DefaultSpace, "the key space")
	layout := layoutFlag(c)
	numbers := numberFlags(c, "one that is granted")
	keys := publicKeysFlag(c)
	config := serve.Config{Version: version()}
	c.Flags().StringArrayVar(&config.HTTP, "http", nil, "address of HTTP; may be given again (default: 127.0.0.1:8080 without --redis)")
	c.Flags().StringArrayVar(&config.Redis, "redis", nil, "address of Redis's protocol; may be given again")
	token := tokenFlag(c)
	c.Flags().BoolVar(&config.WithoutToken, "without-token", false, "let other machines have keys without a token")
	certificate := c.Flags().String("tls-cert", "", "file with the certificate of the service, and those between, for TLS at all addresses but unix:")
	key := c.Flags().String("tls-key", "", "file with the key of the certificate")
	c.Flags().IntVar(&config.MaxBatch, "max-batch", 10_000, fmt.Sprintf("keys of a request at most, 1 to %d", serve.MostBatch))
	c.Flags().IntVar(&config.MaxConnections, "max-connections", 1024, fmt.Sprintf("connections at most, 1 to %d", serve.MostConnections))
	c.Flags().DurationVar(&config.Idle, "idle-timeout", 5*time.Minute, "after which a connection is closed that sends nothing")
	drain := c.Flags().Duration("drain", 0, "how long the service goes on after a signal, not ready, for load balancers to notice")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if len(config.HTTP)+len(config.Redis) == 0 {
			config.HTTP = []string{"127.0.0.1:8080"}
		}
		if *drain < 0 {
			return usageError{fmt.Errorf("--drain %s: must not be negative", *drain)}
		}
		if config.Token, err = token.read(c); err != nil {
			return usageError{err}
		}
		if config.TLS, err = readCertificate(*certificate, *key); err != nil {
			return usageError{err}
		}
		if err := keys.serve(c, layout, &config); err != nil {
			return usageError{err}
		}
		config.Logger = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
		options := numbers.options(c, layout)
		if named.isNamed(c) || stored.isNamed(c) {
			return withGrants(c, named, stored, "table", *table, func(ctx context.Context, _ grant.Dialect, store nodeStore) error {
				return runService(c, ctx, config, *drain, func(ctx context.Context) (serve.Source, func() error, error) {
					keeper, err := grant.Open(ctx, store, grant.Config{Generator: options, Space: *space, Logger: config.Logger})
					if errors.Is(err, grant.ErrConfig) || errors.Is(err, idgen.ErrLayout) || errors.Is(err, idgen.ErrRange) {
						return nil, nil, usageError{err}
					} else if err != nil {
						return nil, nil, err
					}
					return keeper, keeper.Close, nil
				})
			})
		}
		if layout.Bits(idgen.Node) > 0 && !c.Flags().Changed("node") || layout.Bits(idgen.Datacenter) > 0 && !c.Flags().Changed("datacenter") {
			return usageError{fmt.Errorf("no database and no store is named: set %s or %s, give --db-file or --store-file, or all numbers of the layout by hand, such as --node 7", databaseVariable, storeVariable)}
		}
		generator, err := idgen.New(options...)
		if err != nil {
			return usageError{err}
		}
		c.PrintErrln("The node number is given by hand: nobody else may use it, and the clock must not be set back between two runs.")
		ctx, stop := untilSignal(c)
		defer stop()
		return runService(c, ctx, config, *drain, func(context.Context) (serve.Source, func() error, error) {
			return generator, func() error { return nil }, nil
		})
	}
	return c
}

// runService gives keys until the context ends. It opens the source when it listens, and closes it last.
func runService(c *cobra.Command, ctx context.Context, config serve.Config, drain time.Duration, open func(context.Context) (serve.Source, func() error, error)) error {
	server, err := serve.Listen(config)
	if errors.Is(err, serve.ErrConfig) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	for i, address := range server.Addresses() {
		protocol := "http"
		if i >= len(config.HTTP) {
			protocol = "redis"
		}
		c.PrintErrf("Listening for %s at %s.\n", protocol, address)
	}
	// The source outlives the context, which a signal ends: keys are made until the last connection has ended.
	living, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	hasOpened := context.AfterFunc(ctx, abandon)
	source, end, err := open(living)
	err = interrupted(ctx, err, "no node number was acquired")
	opened := hasOpened()
	if err == nil {
		if err = server.Use(source); err == nil && opened {
			notifySystemd("READY=1")
			c.PrintErrln("Ready.")
			select {
			case <-ctx.Done():
			case err = <-server.Failed():
			}
		}
	}
	notifySystemd("STOPPING=1")
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain+graceToStop)
	defer cancel()
	err = errors.Join(err, server.Stop(grace, drain))
	if end != nil {
		err = errors.Join(err, end())
	}
	if err == nil {
		c.PrintErrln("Stopped.")
	}
	return err
}

// notifySystemd tells the state to systemd, where that has started the service and waits for it.
func notifySystemd(state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if conn, err := net.Dial("unixgram", socket); err == nil {
		_, _ = conn.Write([]byte(state)) // systemd itself says that nothing has arrived
		_ = conn.Close()
	}
}

// tokenFile is the file of a flag, "" for the environment variable.
type tokenFile string

// tokenFlag adds --token-file to a command. There is no flag for the token itself: all users could read it in the list of processes.
func tokenFlag(c *cobra.Command) *tokenFile {
	const name = "token"
	file := c.Flags().String(name+"-file", "", `file whose first line is the token that clients have to show, "-" for standard input`)
	_ = c.MarkFlagFilename(name + "-file") // fails only for a flag that does not exist
	return (*tokenFile)(file)
}

// read returns the token, "" for none. A file without one is an error.
func (f tokenFile) read(c *cobra.Command) (string, error) {
	if f == "" {
		return strings.TrimSpace(os.Getenv(tokenVariable)), nil
	}
	lines, err := readSecret(c, "--token-file", string(f), false)
	switch {
	case err != nil:
		return "", fmt.Errorf("--token-file: %w", err)
	case len(lines) == 0 || lines[0] == "":
		return "", fmt.Errorf("--token-file: %s has no token: its first line is empty", f)
	}
	return lines[0], nil
}

// readCertificate returns the settings of TLS, nil for none.
func readCertificate(certificate, key string) (*tls.Config, error) {
	switch {
	case certificate == "" && key == "":
		return nil, nil
	case certificate == "" || key == "":
		return nil, errors.New("--tls-cert and --tls-key go together")
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}

// serve has the service read keys as the command decode does, and make public ids where there are keys for these.
func (k publicKeys) serve(c *cobra.Command, layout *layoutChoice, config *serve.Config) error {
	codec, err := k.codec(publicid.Accept(publicid.MadeBy(layout.Layout)))
	if err == nil {
		config.Encode = codec.Encode
	} else if !errors.Is(err, errNoPublicKeys) {
		return err
	}
	d := decoder{layout: layout.Layout, form: idgen.Decimal, json: true, prefixed: true, recognize: !c.Flags().Changed("layout"),
		codec: func(...publicid.Option) (*publicid.Codec, error) { return codec, err }}
	config.Decode = d.line
	return nil
}
