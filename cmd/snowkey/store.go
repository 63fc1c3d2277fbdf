package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
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
const storeForms = "want redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss://… for TLS, etcd://USER:PASSWORD@HOST:PORT,HOST:PORT, etcds://… for TLS, zk://USER:PASSWORD@HOST:PORT,HOST:PORT or zks://… for TLS"

// storeHelp is said of every command that takes one.
const storeHelp = `

For grants in Redis, etcd or ZooKeeper, --store, --store-file or the environment variable SNOWKEY_STORE takes the place of the database:
redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss:// for TLS, etcd://USER:PASSWORD@HOST:PORT,HOST:PORT, etcds:// for TLS, zk://USER:PASSWORD@HOST:PORT,HOST:PORT
with an account of the scheme digest, zks:// for TLS. What may follow after a question mark: prefix=TEXT, where the application gives its keys another one, and for
ZooKeeper the path of its nodes; ca=PATH, cert=PATH and key=PATH, files for TLS; and for Redis addr=HOST:PORT, a further member of a cluster or a further sentinel,
which may be given again, replicas=N, the number of replicas that each change waits for, and master_name=NAME where the hosts are sentinels, with
sentinel_username=NAME and sentinel_password=SECRET where these have an account of their own. An etcd tells no time: the time that counts is then that of this machine. A ZooKeeper tells it by the date of a write without content, so the account needs to write.`

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
		name: "store", about: "store of grants that is no database, as redis://…, etcd://… or zk://…", variable: storeVariable,
		schemes: []cobra.Completion{"redis://", "rediss://", "etcd://", "etcds://", "zk://", "zks://"},
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
	case "zk", "zks":
		return openZooKeeper(ctx, rest, scheme == "zks")
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
	for name, values := range query {
		if len(values) > 1 && name != "addr" {
			return "", nil, fmt.Errorf("%w: %s is given %d times, want it once", errNoStore, name, len(values))
		}
	}
	if query.Has("prefix") {
		if prefix = take("prefix"); prefix == "" {
			return "", nil, fmt.Errorf("%w: prefix is empty", errNoStore)
		}
	}
	ca, certificate, key := take("ca"), take("cert"), take("key")
	switch {
	case !secure && ca+certificate+key != "":
		return "", nil, fmt.Errorf("%w: ca, cert and key are for TLS; want rediss://, etcds:// or zks://", errNoStore)
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

// silenceRedis sets the one logger of all clients once: those that are open read it meanwhile.
var silenceRedis = sync.OnceFunc(func() { redis.SetLogger(noLog{}) })

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
	silenceRedis()
	var options []redisgrant.Option
	if query.Has("replicas") {
		n, err := strconv.Atoi(query.Get("replicas"))
		if err != nil || n < 1 {
			return nil, nil, fmt.Errorf("%w: replicas=%s, want the number of all replicas, 1 or more", errNoStore, query.Get("replicas"))
		}
		query.Del("replicas")
		options = append(options, redisgrant.WithReplicas(n))
	}
	if prefix != "" {
		options = append(options, redisgrant.WithPrefix(prefix))
	}
	if query.Has("master_name") {
		return openSentinel(parsed, query, config, options)
	}
	parsed.RawQuery = query.Encode()
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

// sentinelStore is a store behind Sentinel, of which the client tells neither the sentinels nor the master's name.
type sentinelStore struct {
	*redisgrant.Store
	place string
}

func (s sentinelStore) Place() string { return s.place }

// openSentinel takes the URL of sentinels, with an account for Redis: that of the sentinels has parameters.
func openSentinel(parsed *url.URL, query url.Values, config *tls.Config, options []redisgrant.Option) (nodeStore, func() error, error) {
	if query.Has("username") || query.Has("password") {
		return nil, nil, fmt.Errorf("%w: username and password are no parameters; the account of Redis stands before the host, that of the sentinels in sentinel_username and sentinel_password", errNoStore)
	}
	user, password := query.Get("sentinel_username"), query.Get("sentinel_password")
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	parsed.RawQuery = query.Encode()
	o, err := redis.ParseFailoverURL(parsed.String())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoStore, err)
	}
	switch {
	case o.MasterName == "":
		return nil, nil, fmt.Errorf("%w: master_name is empty", errNoStore)
	case o.RouteByLatency, o.RouteRandomly, o.ReplicaOnly, o.UseDisconnectedReplicas: // the client panics, or asks replicas
		return nil, nil, fmt.Errorf("%w: the grants are at the master; leave route_by_latency, route_randomly, replica_only and use_disconnected_replicas out", errNoStore)
	}
	o.Username, o.Password, o.SentinelUsername, o.SentinelPassword = o.SentinelUsername, o.SentinelPassword, user, password
	if o.TLSConfig = config; config != nil {
		config.ServerName = "" // each server has its own
	}
	client := redis.NewFailoverClient(o)
	store := redisgrant.New(client, options...)
	named := fmt.Sprintf("sentinel %s %s", strings.Join(o.SentinelAddrs, ","), o.MasterName)
	return sentinelStore{store, strings.Replace(store.Place(), "of Sentinel", named, 1)}, client.Close, nil
}

// hosts are what follows after the scheme of a URL with several hosts. It is no URL for net/url, which takes one.
type hosts struct {
	user, password string
	addresses      []string
	query          url.Values
}

// parseHosts reads what follows after a scheme. Hosts without a port get one.
func parseHosts(scheme, rest, port string) (h hosts, err error) {
	want := "want " + scheme + "://USER:PASSWORD@HOST:PORT,HOST:PORT"
	authority, parameters, _ := strings.Cut(rest, "?")
	if h.query, err = url.ParseQuery(parameters); err != nil {
		return hosts{}, fmt.Errorf("%w: the parameters after the question mark cannot be read; %s", errNoStore, want)
	}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		var wrongName, wrongSecret error
		h.user, wrongName = url.PathUnescape(user)
		h.password, wrongSecret = url.PathUnescape(password)
		if wrongName != nil || wrongSecret != nil || h.user == "" {
			return hosts{}, fmt.Errorf("%w: the user or the password cannot be read; %s, with %% before what is special in a password", errNoStore, want)
		}
		authority = authority[at+1:]
	}
	authority, path, _ := strings.Cut(authority, "/")
	if path != "" {
		return hosts{}, fmt.Errorf("%w: a path follows the hosts; the place of the grants is a parameter, ?prefix=TEXT; %s", errNoStore, want)
	}
	for host := range strings.SplitSeq(authority, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" || strings.ContainsAny(host, "/ ") {
			return hosts{}, fmt.Errorf("%w: a host is missing or cannot be read; %s", errNoStore, want)
		}
		h.addresses = append(h.addresses, host)
	}
	return h, nil
}

// settings takes those of all stores, and refuses others.
func (h hosts) settings(secure bool) (prefix string, config *tls.Config, err error) {
	if prefix, config, err = takeSettings(h.query, secure, ""); err == nil && len(h.query) > 0 {
		err = fmt.Errorf("%w: unknown parameters %q; there are prefix, ca, cert and key", errNoStore, slices.Sorted(maps.Keys(h.query)))
	}
	return prefix, config, err
}

// openEtcd takes what follows after the scheme.
func openEtcd(ctx context.Context, rest string, secure bool) (nodeStore, func() error, error) {
	h, err := parseHosts("etcd", rest, "2379")
	if err != nil {
		return nil, nil, err
	}
	prefix, secured, err := h.settings(secure)
	switch {
	case err != nil:
		return nil, nil, err
	case h.user != "" && h.password == "":
		return nil, nil, fmt.Errorf("%w: the user has no password; want etcd://USER:PASSWORD@HOST:PORT", errNoStore)
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	config := clientv3.Config{
		Logger: zap.NewNop(), Context: ctx, DialTimeout: 10 * time.Second, DialKeepAliveTime: 10 * time.Second, Username: h.user, Password: h.password, TLS: secured,
	}
	for _, address := range h.addresses {
		config.Endpoints = append(config.Endpoints, scheme+address)
	}
	var options []etcdgrant.Option
	if prefix != "" {
		options = append(options, etcdgrant.WithPrefix(prefix))
	}
	client, err := clientv3.New(config) // with a password it asks for a token
	if err != nil {
		return nil, nil, fmt.Errorf("etcd %s: %w", strings.Join(config.Endpoints, ","), err)
	}
	return etcdgrant.New(client, options...), client.Close, nil
}
