//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// startRedis starts a Redis with a password, and returns its URL.
func startRedis(t *testing.T) string {
	_, store := launchRedis(t)
	return store
}

func launchRedis(t *testing.T) (process *testprocess.Process, store string) {
	t.Helper()
	command := exec.Command(testprocess.Path(t, "redis-server", "redis"), "-")
	dir := t.TempDir()
	port := testprocess.FreePort(t)
	command.Stdin = strings.NewReader(fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nlogfile %s/log\nsave \"\"\nappendonly yes\nappendfsync always\nrequirepass se%%cret\n", port, dir, dir))
	process = testprocess.Start(t, command)
	return process, answers(t, process, fmt.Sprintf("redis://:se%%25cret@127.0.0.1:%d/3", port))
}

// startSentinel starts a Redis with a password, and a sentinel that names it.
func startSentinel(t *testing.T) string {
	master, err := url.Parse(startRedis(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), testprocess.FreePort(t)
	file := filepath.Join(dir, "sentinel.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\ndir %s\nlogfile %s/log\nsentinel monitor keys 127.0.0.1 %s 1\nsentinel auth-pass keys se%%cret\n",
		port, dir, dir, master.Port()), 0o600); err != nil {
		t.Fatal(err)
	}
	process := testprocess.Start(t, exec.Command(testprocess.Path(t, "redis-server", "redis"), file, "--sentinel"))
	return answers(t, process, fmt.Sprintf("redis://:se%%25cret@127.0.0.1:%d/3?master_name=keys", port))
}

// startEtcd starts an etcd with a password, and returns its URL.
func startEtcd(t *testing.T) string {
	dir := t.TempDir()
	host, peer := fmt.Sprint("127.0.0.1:", testprocess.FreePort(t)), fmt.Sprint("http://127.0.0.1:", testprocess.FreePort(t))
	process := testprocess.Start(t, exec.Command(testprocess.Path(t, "etcd", "etcd"), "--data-dir", filepath.Join(dir, "data"), "--listen-client-urls", "http://"+host,
		"--advertise-client-urls", "http://"+host, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--logger", "zap", "--log-outputs", filepath.Join(dir, "log")))
	answers(t, process, "etcd://"+host)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{host}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, added := client.UserAdd(t.Context(), "root", "se%cret")
	_, granted := client.UserGrantRole(t.Context(), "root", "root")
	_, enabled := client.AuthEnable(t.Context())
	if err := errors.Join(added, granted, enabled); err != nil {
		t.Fatal(err)
	}
	return "etcd://root:se%25cret@" + host
}

// startZooKeeper starts a ZooKeeper in which nobody without a password has rights, and returns its URL.
func startZooKeeper(t *testing.T) string {
	address := fmt.Sprint("127.0.0.1:", testprocess.FreePort(t))
	_, port, _ := strings.Cut(address, ":")
	process := launchZooKeeper(t, "clientPort="+port, "clientPortAddress=127.0.0.1")
	answers(t, process, "zk://"+address)
	conn, _, err := zk.Connect([]string{address}, time.Second, zk.WithLogger(muted{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.SetACL("/", zk.DigestACL(zk.PermAll, "app", "se%cret"), -1); err != nil {
		t.Fatal(err)
	}
	return "zk://app:se%25cret@" + address
}

func launchZooKeeper(t *testing.T, lines ...string) *testprocess.Process {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(append(lines, "dataDir="+dir, ""), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return testprocess.Start(t, testprocess.ZooKeeper(t, file))
}

func answers(t *testing.T, process *testprocess.Process, store string) string {
	t.Helper()
	opened, end, err := openStore(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end() }() // of clients that may have found no server
	process.Until("the server answers", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := opened.Spaces(ctx)
		return err == nil
	})
	return store
}

// The grants of Redis, etcd and ZooKeeper are listed, changed and doubted as those of a database.
func TestNodesStore(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"redis": startRedis, "redis sentinel": startSentinel, "etcd": startEtcd, "zookeeper": startZooKeeper} {
		t.Run(name, func(t *testing.T) {
			named, prefix := start(t), "app/"
			if name == "zookeeper" {
				prefix = "/app"
			}
			prefixed := named + "?prefix=" + prefix
			if strings.Contains(named, "?") {
				prefixed = named + "&prefix=" + prefix
			}
			file := filepath.Join(t.TempDir(), "store")
			if err := os.WriteFile(file, []byte(prefixed+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			nodes := func(args ...string) (status int, stdout, stderr string) {
				var out, errOut bytes.Buffer
				status = run(t.Context(), append([]string{"nodes"}, args...), nil, &out, &errOut)
				if strings.Contains(out.String()+errOut.String(), "cret") {
					t.Errorf("%q shows the password: %s%s", args, &out, &errOut)
				}
				return status, out.String(), errOut.String()
			}
			if status, stdout, stderr := nodes("--store", named); status != 0 || !strings.Contains(stdout, "no key spaces yet in store "+name) {
				t.Errorf("without a space: got status %d, %q and %q", status, stdout, stderr)
			}
			if status, _, stderr := nodes("--store", named, "--space", "nosuch"); status != 1 || !strings.Contains(stderr, `no key space "nosuch"; there is none at all`) {
				t.Errorf("a space of none: got status %d and %q", status, stderr)
			}
			store, end, err := openStore(t.Context(), prefixed)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := end(); err != nil {
					t.Error(err)
				}
			}()
			both := grant.Config{Name: "web-1", Generator: []idgen.Option{idgen.Packed}, Before: []idgen.Option{idgen.Snowkey}}
			for _, config := range []grant.Config{{Name: "web-1"}, {Name: "web-3", Space: "orders"}} {
				k, err := grant.Open(t.Context(), store, config)
				if err == nil && config.Space == "" {
					err = k.Close() // which makes the space with this layout
				}
				if err == nil && config.Space == "" {
					time.Sleep(100 * time.Millisecond) // the number is free some ticks after it was given back, and taken again then
					k, err = grant.Open(t.Context(), store, both)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = k.Close() }()
			}
			if err := store.Record(t.Context(), "orders", grant.Loss{Number: 5, Holder: "web-9#0123", From: 1000, Until: 2000}); err != nil {
				t.Fatal(err)
			}
			if status, stdout, stderr := nodes("change", "--store-file", file, "--to", "packed"); status != 0 || !strings.HasSuffix(stdout, "announced\n") {
				t.Errorf("change: got status %d, %q and %q", status, stdout, stderr)
			}
			t.Setenv(storeVariable, prefixed)
			status, list, stderr := nodes()
			if status != 0 || stderr != "" {
				t.Fatalf("got status %d and %q", status, stderr)
			}
			for _, want := range []string{
				"space default, 1 of 1024 held at ", "0     held   20", "  web-1\n", "\nstore " + store.Place() + "\n", "layout " + idgen.Snowkey.String(), ": " + idgen.Packed.String() + "\n",
				"space orders, 1 of 1024 held at ", "5     lost   20", "web-9\n",
			} {
				if !strings.Contains(list, want) {
					t.Errorf("%q is missing in\n%s", want, list)
				}
			}
			if status, list, _ = nodes("--space", "orders", "--max-held", "50%"); status != 0 || strings.Contains(list, "default") {
				t.Errorf("got status %d and\n%s", status, list)
			}
			if status, _, stderr = nodes("--space", "nosuch"); status != 1 || !strings.Contains(stderr, `there are ["default" "orders"]`) {
				t.Errorf("got status %d and %q", status, stderr)
			}
			kinds := map[string]int{}
			_, lines, _ := nodes("--json")
			for line := range strings.Lines(lines) {
				var node nodeLine
				if err := json.Unmarshal([]byte(line), &node); err != nil || node.Table != store.Place() {
					t.Fatalf("%s: %v", line, err)
				}
				kinds[node.Kind]++
			}
			if kinds["space"] != 2 || kinds["node"] != 2 || kinds["loss"] != 1 {
				t.Errorf("got the lines %v", kinds)
			}
			status, sql, stderr := nodes("doubt", "--dialect", "mysql", "--table", "carts")
			if status != 0 || !strings.Contains(sql, "-- space orders in store "+store.Place()+": number 5, lost by web-9\n") || !strings.Contains(sql, "FROM `carts` WHERE") {
				t.Errorf("doubt: got status %d, %q and %q", status, sql, stderr)
			}
			t.Setenv(databaseVariable, "sqlite:nosuch.db")
			for want, args := range map[string][]string{
				"SNOWKEY_DB and SNOWKEY_STORE are both set": {},
				"a database and a store are given":          {"--store-file", file, "--db", "sqlite:nosuch.db"},
				"--table is for databases":                  {"--store-file", file, "--table", "x"},
				"--grants is for databases":                 {"doubt", "--store-file", file, "--grants", "x", "--dialect", "mysql"},
				"--dialect goes with a store":               {"doubt", "--store-file", file},
				"--dialect: ":                               {"doubt", "--store-file", file, "--dialect", "oracle"},
				"no such file":                              {"--db", "sqlite:nosuch.db"},
			} {
				if status, _, stderr := nodes(args...); status != statusUsage || !strings.Contains(stderr, want) {
					t.Errorf("%q: got status %d and %q, want %q", args, status, stderr, want)
				}
			}
			wrong := strings.Replace(prefixed, "se%25cret", "wrongcret", 1)
			if status, _, stderr := nodes("--store", wrong); status != 1 || !strings.Contains(stderr, name) {
				t.Errorf("with a wrong password: got status %d and %q", status, stderr)
			}
		})
	}
}

// The URL of a store is read, and errors say what is wrong and repeat no password.
func TestOpenStore(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"redis://127.0.0.1:6379/2":                          "redis 127.0.0.1:6379/2 snowkey:",
		"redis://localhost":                                 "redis localhost:6379/0 snowkey:",
		"rediss://app:cret@[::1]:6379?prefix=shop:":         "redis [::1]:6379/0 shop:",
		"redis://127.0.0.1:7000?addr=127.0.0.1:7001":        "redis cluster 127.0.0.1:7000,127.0.0.1:7001 snowkey:",
		"rediss://:cret@127.0.0.1:7000?addr=127.0.0.1:7001": "redis cluster 127.0.0.1:7000,127.0.0.1:7001 snowkey:",
		"redis://127.0.0.1:7000?replicas=2":                 "redis 127.0.0.1:7000/0 snowkey:",
		"redis://127.0.0.1:7000?replicas=0":                 "error: replicas=0, want the number of all replicas",
		"redis://127.0.0.1:7000?replicas=x":                 "error: replicas=x, want the number of all replicas",
		"redis://:cret@127.0.0.1:7000/2?master_name=keys&sentinel_password=cret&addr=127.0.0.1:7001": "redis sentinel 127.0.0.1:7000,127.0.0.1:7001 keys/2 snowkey:",
		"redis://127.0.0.1:7000?master_name=":                                                        "error: master_name is empty",
		"redis://127.0.0.1:7000?master_name=keys&route_by_latency=true":                              "error: the grants are at the master",
		"redis://127.0.0.1:7000?master_name=keys&replica_only=true":                                  "error: the grants are at the master",
		"redis://127.0.0.1:7000?master_name=keys&password=cret":                                      "error: username and password are no parameters",
		"redis://127.0.0.1:7000?sentinel_password=cret":                                              "error: unexpected option",
		"redis://127.0.0.1:7000?master_name=keys&nosuch=1":                                           "error: unexpected option",
		"etcd://127.0.0.1:2379":                                                                      "etcd http://127.0.0.1:2379 snowkey/",
		"etcd://a,b:1/?prefix=shop/":                                                                 "etcd http://a:2379,http://b:1 shop/",
		"etcds://[::1]:5,[::2]":                                                                      "etcd https://[::1]:5,https://[::2]:2379 snowkey/",
		"":                                                                                           "error: no scheme before ://",
		"127.0.0.1:6379":                                                                             "error: no scheme before ://",
		"http://app:cret@127.0.0.1":                                                                  "error: unknown scheme before ://",
		"postgres://app:cret@127.0.0.1/app":                                                          "error: unknown scheme before ://",
		"redis://":                                                                                   "error: no URL of Redis",
		"redis://app:cr%et@127.0.0.1":                                                                "error: no URL of Redis",
		"redis://app:cret@127.0.0.1/x":                                                               "error: invalid database number",
		"redis://127.0.0.1?nosuch=1":                                                                 "error: unexpected option",
		"redis://127.0.0.1?prefix=":                                                                  "error: prefix is empty",
		"redis://127.0.0.1?ca=" + empty:                                                              "error: are for TLS",
		"rediss://127.0.0.1?ca=" + empty:                                                             "error: has no certificate",
		"rediss://127.0.0.1?ca=/nosuch":                                                              "error: no such file",
		"rediss://127.0.0.1?cert=" + empty:                                                           "error: cert and key go together",
		"etcds://127.0.0.1?cert=" + empty + "&key=" + empty:                                          "error: cert and key: ",
		"etcd://":                               "error: a host is missing",
		"etcd://a,,b":                           "error: a host is missing",
		"etcd://a/b":                            "error: a path follows the hosts",
		"etcd://app:cr%et@a":                    "error: the user or the password cannot be read",
		"etcd://:cret@a":                        "error: the user or the password cannot be read",
		"etcd://app:cret@a?%":                   "error: the parameters after the question mark",
		"etcd://app:cret@a?nosuch=cret&other=x": `error: unknown parameters ["nosuch" "other"]`,
		"etcd://a?ca=" + empty:                  "error: are for TLS",
		"zk://":                                 "error: a host is missing",
		"zk://a,/b":                             "error: a path follows the hosts",
		"redis://127.0.0.1?prefix=a&prefix=b":   "error: prefix is given 2 times, want it once",
		"etcd://app@a":                          "error: the user has no password",
		"zk://:cret@a":                          "error: the user or the password cannot be read",
		"zk://app:cret@a?%":                     "error: the parameters after the question mark",
		"zk://a?nosuch=cret":                    `error: unknown parameters ["nosuch"]`,
		"zk://a":                                "zookeeper /snowkey",
		"zk://a?prefix=app":                     "zookeeper app",
		"zk://a?key=" + empty:                   "error: are for TLS",
	} {
		store, end, err := openStore(t.Context(), text)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = strings.Replace(store.Place(), " a:2181", "", 1) // ZooKeeper's client may try it already
			_ = end()                                              // there is no server
		}
		if want, is := strings.CutPrefix(want, "error: "); is && (err == nil || !strings.Contains(got, want)) || !is && got != want || strings.Contains(got, "cret") {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A store that speaks TLS alone, and asks for a certificate, is reached with the files that its URL names, and not without.
func TestNodesStoreTLS(t *testing.T) {
	dir := t.TempDir()
	ca := testprocess.Certificate(t, dir, "ca", nil)
	testprocess.Certificate(t, dir, "server", ca)
	testprocess.Certificate(t, dir, "client", ca)
	in := func(name string) string { return filepath.Join(dir, name) }
	for scheme, start := range map[string]func(host, port string) *exec.Cmd{
		"rediss": func(_, port string) *exec.Cmd {
			command := exec.Command(testprocess.Path(t, "redis-server", "redis"), "-")
			command.Stdin = strings.NewReader(fmt.Sprintf("port 0\ntls-port %s\nbind 127.0.0.1\ndir %s\nlogfile %[2]s/log\nsave \"\"\ntls-ca-cert-file %s\ntls-cert-file %s\ntls-key-file %s\n",
				port, dir, in("ca.pem"), in("server.pem"), in("server.key")))
			return command
		},
		"etcds": func(host, _ string) *exec.Cmd {
			peer := fmt.Sprint("http://127.0.0.1:", testprocess.FreePort(t))
			return exec.Command(testprocess.Path(t, "etcd", "etcd"), "--data-dir", in("data"), "--listen-client-urls", "https://"+host, "--advertise-client-urls", "https://"+host,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--logger", "zap", "--log-outputs", in("etcd.log"),
				"--cert-file", in("server.pem"), "--key-file", in("server.key"), "--client-cert-auth", "--trusted-ca-file", in("ca.pem"))
		},
		"zks": func(_, port string) *exec.Cmd {
			config, pair := in("zoo.cfg"), in("pair.pem")
			certificate, certificateErr := os.ReadFile(in("server.pem"))
			key, keyErr := os.ReadFile(in("server.key"))
			if err := errors.Join(certificateErr, keyErr, os.Mkdir(in("zookeeper"), 0o700), os.WriteFile(pair, append(certificate, key...), 0o600), os.WriteFile(config, fmt.Appendf(nil,
				"dataDir=%s\nsecureClientPort=%s\nsecureClientPortAddress=127.0.0.1\nserverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\nssl.keyStore.type=PEM\n"+
					"ssl.keyStore.location=%s\nssl.trustStore.type=PEM\nssl.trustStore.location=%s\n", in("zookeeper"), port, pair, in("ca.pem")), 0o600)); err != nil {
				t.Fatal(err)
			}
			return testprocess.ZooKeeper(t, config)
		},
	} {
		t.Run(scheme, func(t *testing.T) {
			dbtest.LongOn(t, scheme, "zks")
			port := fmt.Sprint(testprocess.FreePort(t))
			host := "127.0.0.1:" + port
			process := testprocess.Start(t, start(host, port))
			named := answers(t, process, fmt.Sprintf("%s://%s?ca=%s&cert=%s&key=%s", scheme, host, in("ca.pem"), in("client.pem"), in("client.key")))
			var out, errOut bytes.Buffer
			if status := run(t.Context(), []string{"nodes", "--store", named}, nil, &out, &errOut); status != 0 || !strings.Contains(out.String(), "no key spaces yet in store") || !strings.Contains(out.String(), host) {
				t.Errorf("got status %d, %q and %q", status, &out, &errOut)
			}
			for _, less := range []string{"?ca=" + in("ca.pem"), "?cert=" + in("client.pem") + "&key=" + in("client.key")} {
				store, end, err := openStore(t.Context(), scheme+"://"+host+less)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				if _, err := store.Spaces(ctx); err == nil {
					t.Errorf("with %s alone: got no error", less)
				}
				cancel()
				_ = end() // of a client that has found no server
			}
		})
	}
}
