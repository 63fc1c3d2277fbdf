package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/etcdgrant"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
)

// storeVariable is the environment variable that names the store of grants, where that is no database.
const storeVariable = "SNOWKEY_STORE"

// storeForms says what a store's URL is.
const storeForms = "want redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss://… for TLS, etcd://USER:PASSWORD@HOST:PORT,HOST:PORT or etcds://… for TLS"

// storeHelp is said of every command that takes one.
const storeHelp = `

For grants in Redis or etcd, --store, --store-file or the environment variable SNOWKEY_STORE takes the place of the database:
redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss:// for TLS, etcd://USER:PASSWORD@HOST:PORT,HOST:PORT, etcds:// for TLS. What may follow after
a question mark: prefix=TEXT, where the application gives its keys another one; ca=PATH, cert=PATH and key=PATH, files for TLS; and for Redis addr=HOST:PORT,
a further member of a cluster, which may be given again. An etcd tells no time: the time that counts is then that of this machine.`

// nodeStore is a store of grants whose spaces can be listed.
type nodeStore interface {
	grant.Store
	Spaces(ctx context.Context) ([]grant.Space, error)
	Place() string
	Warnings() []string
}

// storeFlag adds --store and --store-file to a command that takes a database too.
func storeFlag(c *cobra.Command) *dsnFlag {
	c.Long += storeHelp
	return addDSN(c, dsnFlag{
		name: "store", about: "store of grants that is no database, as redis://… or etcd://…", variable: storeVariable,
		schemes: []cobra.Completion{"redis://", "rediss://", "etcd://", "etcds://"},
	})
}

// usesStore reports whether a command is to use a store, and not a database. The error is of usage.
func usesStore(c *cobra.Command, database, store *dsnFlag) (bool, error) {
	switch byStore, byDatabase := store.isGiven(c), database.isGiven(c); {
	case byStore && byDatabase:
		return false, usageError{errors.New("a database and a store are given; the grants are in one of them")}
	case byStore || byDatabase:
		return byStore, nil
	case store.isNamed(c) && database.isNamed(c):
		return false, usageError{fmt.Errorf("%s and %s are both set; say by --db-file or --store-file which one it is, or unset one of them", databaseVariable, storeVariable)}
	}
	return store.isNamed(c), nil
}

// withStore opens the store of a flag, calls do, and closes it. A signal ends the context. Errors name the store without its password.
func (f *dsnFlag) withStore(c *cobra.Command, do func(ctx context.Context, store nodeStore) error) (err error) {
	all, err := f.read(c)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(c)
	defer stop()
	store, end, err := openStore(ctx, all[0].text)
	if errors.Is(err, errNoStore) {
		return usageError{fmt.Errorf("%s: %w", all[0].from, err)}
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := do(ctx, store); err != nil {
		return fmt.Errorf("%w; the store is %s", err, store.Place())
	}
	return nil
}

// errNoStore says that a text names no store.
var errNoStore = errors.New("no store of grants")

// openStore returns the store that a URL names, and what closes it. Its errors repeat nothing that may be a password, and wrap [errNoStore] where the text is at fault.
func openStore(ctx context.Context, text string) (store nodeStore, end func() error, err error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return nil, nil, fmt.Errorf("%w: no scheme before ://; %s", errNoStore, storeForms)
	}
	switch scheme {
	case "redis", "rediss":
		return openRedis(text)
	case "etcd", "etcds":
		return openEtcd(ctx, rest, scheme == "etcds")
	}
	return nil, nil, fmt.Errorf("%w: unknown scheme before ://; %s", errNoStore, storeForms)
}

// takeSettings takes those of all stores from the parameters of a URL.
func takeSettings(query url.Values, secure bool, host string) (prefix string, config *tls.Config, err error) {
	take := func(name string) string {
		value := query.Get(name)
		query.Del(name)
		return value
	}
	if query.Has("prefix") {
		if prefix = take("prefix"); prefix == "" {
			return "", nil, fmt.Errorf("%w: prefix is empty", errNoStore)
		}
	}
	ca, certificate, key := take("ca"), take("cert"), take("key")
	switch {
	case !secure && ca+certificate+key != "":
		return "", nil, fmt.Errorf("%w: ca, cert and key are for TLS; want rediss:// or etcds://", errNoStore)
	case (certificate == "") != (key == ""):
		return "", nil, fmt.Errorf("%w: cert and key go together", errNoStore)
	case !secure:
		return prefix, nil, nil
	}
	config = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return "", nil, fmt.Errorf("%w: ca: %w", errNoStore, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return "", nil, fmt.Errorf("%w: ca: %s has no certificate", errNoStore, ca)
		}
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return "", nil, fmt.Errorf("%w: cert and key: %w", errNoStore, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return prefix, config, nil
}

// noLog is a logger of the client of Redis, whose errors are returned too.
type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}

func openRedis(text string) (nodeStore, func() error, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Opaque != "" || parsed.Host == "" {
		return nil, nil, fmt.Errorf("%w: no URL of Redis; want redis://USER:PASSWORD@HOST:PORT/DATABASE, with %% before what is special in a password", errNoStore)
	}
	query := parsed.Query()
	prefix, config, err := takeSettings(query, parsed.Scheme == "rediss", parsed.Hostname())
	if err != nil {
		return nil, nil, err
	}
	parsed.RawQuery = query.Encode()
	redis.SetLogger(noLog{})
	var options []redisgrant.Option
	if prefix != "" {
		options = append(options, redisgrant.WithPrefix(prefix))
	}
	if query.Has("addr") {
		o, err := redis.ParseClusterURL(parsed.String())
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errNoStore, err)
		}
		if o.TLSConfig = config; config != nil {
			config.ServerName = "" // each member has its own
		}
		client := redis.NewClusterClient(o)
		return redisgrant.New(client, options...), client.Close, nil
	}
	o, err := redis.ParseURL(parsed.String())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoStore, err)
	}
	o.TLSConfig = config
	client := redis.NewClient(o)
	return redisgrant.New(client, options...), client.Close, nil
}

// openEtcd takes what follows after the scheme. It is no URL for net/url, which takes one host.
func openEtcd(ctx context.Context, rest string, secure bool) (nodeStore, func() error, error) {
	const want = "want etcd://USER:PASSWORD@HOST:PORT,HOST:PORT"
	authority, parameters, _ := strings.Cut(rest, "?")
	query, err := url.ParseQuery(parameters)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the parameters after the question mark cannot be read; %s", errNoStore, want)
	}
	authority = strings.TrimSuffix(authority, "/")
	config := clientv3.Config{Logger: zap.NewNop(), Context: ctx, DialTimeout: 10 * time.Second, DialKeepAliveTime: 10 * time.Second}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		name, wrongName := url.PathUnescape(user)
		secret, wrongSecret := url.PathUnescape(password)
		if wrongName != nil || wrongSecret != nil || name == "" {
			return nil, nil, fmt.Errorf("%w: the user or the password cannot be read; "+want+", with %% before what is special in a password", errNoStore)
		}
		config.Username, config.Password, authority = name, secret, authority[at+1:]
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	for host := range strings.SplitSeq(authority, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "2379")
		}
		if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" || strings.ContainsAny(host, "/ ") {
			return nil, nil, fmt.Errorf("%w: a host is missing or cannot be read; %s", errNoStore, want)
		}
		config.Endpoints = append(config.Endpoints, scheme+host)
	}
	prefix, secured, err := takeSettings(query, secure, "")
	if err != nil {
		return nil, nil, err
	}
	if len(query) > 0 {
		var names []string
		for name := range query {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, nil, fmt.Errorf("%w: unknown parameters %q; there are prefix, ca, cert and key", errNoStore, names)
	}
	var options []etcdgrant.Option
	if prefix != "" {
		options = append(options, etcdgrant.WithPrefix(prefix))
	}
	config.TLS = secured
	client, err := clientv3.New(config) // with a password it asks for a token
	if err != nil {
		return nil, nil, fmt.Errorf("etcd %s: %w", strings.Join(config.Endpoints, ","), err)
	}
	return etcdgrant.New(client, options...), client.Close, nil
}
