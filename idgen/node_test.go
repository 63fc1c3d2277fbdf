package idgen_test

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
)

// checkNode holds what a source returned to what a test wants: a number and its origin, or an error that wraps one and has the texts.
// In the text of an error, parts that are apart are separated by " … ".
func checkNode(t *testing.T, got idgen.NodeNumber, err error, want int64, wantErr error, wantText string) {
	t.Helper()
	if wantErr == nil {
		if err != nil || got != (idgen.NodeNumber{Value: want, Origin: wantText}) {
			t.Errorf("got %+v, %v, want %d of %s", got, err, want, wantText)
		}
		return
	}
	if !errors.Is(err, wantErr) || got != (idgen.NodeNumber{}) {
		t.Fatalf("got %+v, %v, want %v", got, err, wantErr)
	}
	for _, other := range []error{idgen.ErrNode, idgen.ErrRange, idgen.ErrAddress} {
		if other != wantErr && errors.Is(err, other) {
			t.Errorf("got %v, which is %v too", err, other)
		}
	}
	for _, text := range strings.Split(wantText, " … ") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want %q in it", err, text)
		}
	}
	if len(err.Error()) > 2000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestEnvNode(t *testing.T) {
	const variable = "SNOWKEY_TEST_NODE"
	for _, tt := range []struct {
		value string
		bits  int
		want  int64
		err   error
		text  string
	}{
		{"7", 10, 7, nil, `environment variable SNOWKEY_TEST_NODE="7"`},
		{"0", 10, 0, nil, `environment variable SNOWKEY_TEST_NODE="0"`},
		{"0", 1, 0, nil, `environment variable SNOWKEY_TEST_NODE="0"`},
		{"1023", 10, 1023, nil, `environment variable SNOWKEY_TEST_NODE="1023"`},
		{"010", 10, 10, nil, `environment variable SNOWKEY_TEST_NODE="010"`},
		{"9223372036854775807", 63, 1<<63 - 1, nil, `environment variable SNOWKEY_TEST_NODE="9223372036854775807"`},
		{"1024", 10, 0, idgen.ErrRange, `SNOWKEY_TEST_NODE="1024" is above the limit, want 0 to 1023`},
		{"2", 1, 0, idgen.ErrRange, `want 0 to 1`},
		{"9223372036854775808", 63, 0, idgen.ErrRange, `want 0 to 9223372036854775807`},
		{"18446744073709551623", 10, 0, idgen.ErrRange, `want 0 to 1023`},
		{strings.Repeat("9", 1<<17), 10, 0, idgen.ErrRange, `want 0 to 1023`},
		{"-1", 10, 0, idgen.ErrRange, `SNOWKEY_TEST_NODE="-1" is negative, want 0 to 1023`},
		{"-99999999999999999999", 10, 0, idgen.ErrRange, `is negative, want 0 to 1023`},
		{"", 10, 0, idgen.ErrNode, `SNOWKEY_TEST_NODE is empty, want 0 to 1023`},
		{"-", 10, 0, idgen.ErrNode, `SNOWKEY_TEST_NODE="-" is no decimal number, want 0 to 1023`},
		{"--1", 10, 0, idgen.ErrNode, `is no decimal number`},
		{"+1", 10, 0, idgen.ErrNode, `="+1" is no decimal number`},
		{" 1", 10, 0, idgen.ErrNode, `=" 1" is no decimal number`},
		{"1\n", 10, 0, idgen.ErrNode, `="1\n" is no decimal number`},
		{"0x1f", 10, 0, idgen.ErrNode, `="0x1f" is no decimal number`},
		{"1_0", 10, 0, idgen.ErrNode, `is no decimal number`},
		{"1.0", 10, 0, idgen.ErrNode, `is no decimal number`},
		{"web-3", 10, 0, idgen.ErrNode, `="web-3" is no decimal number`},
		{"٣", 10, 0, idgen.ErrNode, `="٣" is no decimal number`},
		{"\xff", 10, 0, idgen.ErrNode, `="\xff" is no decimal number`},
		{strings.Repeat("x", 1<<17), 10, 0, idgen.ErrNode, `is no decimal number`},
	} {
		t.Run(fmt.Sprintf("%.20q/bits=%d", tt.value, tt.bits), func(t *testing.T) {
			t.Setenv(variable, tt.value)
			got, err := idgen.EnvNode(variable)(tt.bits)
			checkNode(t, got, err, tt.want, tt.err, tt.text)
		})
	}
}

func TestEnvNodeUnset(t *testing.T) {
	got, err := idgen.EnvNode("SNOWKEY_TEST_UNSET")(10)
	checkNode(t, got, err, 0, idgen.ErrNode, "environment variable SNOWKEY_TEST_UNSET is not set, want 0 to 1023")
	got, err = idgen.EnvNode("")(10)
	checkNode(t, got, err, 0, idgen.ErrNode, "the name of the environment variable is empty")
}

// The variable is read when the generator is made, not when the option is.
func TestEnvNodeReadsLate(t *testing.T) {
	source := idgen.EnvNode("SNOWKEY_TEST_NODE")
	for _, value := range []string{"3", "4"} {
		t.Setenv("SNOWKEY_TEST_NODE", value)
		if got, err := source(10); err != nil || strconv.FormatInt(got.Value, 10) != value {
			t.Errorf("got %+v, %v, want %s", got, err, value)
		}
	}
}

func TestPodNode(t *testing.T) {
	const noOrdinal = "does not end in a dash and an ordinal"
	for _, tt := range []struct {
		host string
		bits int
		want int64
		err  error
		text string
	}{
		{"web-3", 10, 3, nil, `host name "web-3"`},
		{"web-0", 10, 0, nil, `host name "web-0"`},
		{"web-1023", 10, 1023, nil, `host name "web-1023"`},
		{"my-web-2-1", 10, 1, nil, `host name "my-web-2-1"`},
		{"web2-10", 10, 10, nil, `host name "web2-10"`},
		{"3-4", 10, 4, nil, `host name "3-4"`},
		{"web-3.nginx.default.svc.cluster.local", 10, 3, nil, `host name "web-3.nginx.default.svc.cluster.local"`},
		{"web-9223372036854775807", 63, 1<<63 - 1, nil, `host name "web-9223372036854775807"`},
		{"web-1024", 10, 0, idgen.ErrRange, `host name "web-1024" is above the limit, want 0 to 1023`},
		{"web-9223372036854775808", 63, 0, idgen.ErrRange, `want 0 to 9223372036854775807`},
		{"web-" + strings.Repeat("9", 5000), 10, 0, idgen.ErrRange, `want 0 to 1023`},
		{"web-03", 10, 0, idgen.ErrNode, `host name "web-03" ends in "03" … has no leading zero`},
		{"web-00", 10, 0, idgen.ErrNode, `has no leading zero`},
		{"web", 10, 0, idgen.ErrNode, `host name "web" ` + noOrdinal},
		{"web-", 10, 0, idgen.ErrNode, `host name "web-" ` + noOrdinal},
		{"web-x", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-3-abcde", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-7d4b9c6f5-x2k9q", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-3-", 10, 0, idgen.ErrNode, noOrdinal},
		{"web--3", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-+3", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-3x", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-0x3", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-3 ", 10, 0, idgen.ErrNode, noOrdinal},
		{"web-٣", 10, 0, idgen.ErrNode, noOrdinal},
		{"3", 10, 0, idgen.ErrNode, noOrdinal},
		{"-3", 10, 0, idgen.ErrNode, noOrdinal},
		{"-", 10, 0, idgen.ErrNode, noOrdinal},
		{".", 10, 0, idgen.ErrNode, noOrdinal},
		{"web.svc-3", 10, 0, idgen.ErrNode, noOrdinal},
		{"ip-10-0-4-7.ec2.internal", 10, 7, nil, `host name "ip-10-0-4-7.ec2.internal"`},
		{"\xff-\xff", 10, 0, idgen.ErrNode, noOrdinal},
		{strings.Repeat("x", 5000), 10, 0, idgen.ErrNode, noOrdinal},
	} {
		t.Run(fmt.Sprintf("%.40q/bits=%d", tt.host, tt.bits), func(t *testing.T) {
			got, err := idgen.PodNode(tt.host)(tt.bits)
			checkNode(t, got, err, tt.want, tt.err, tt.text)
			got, err = idgen.PodNodeOf("", func() (string, error) { return tt.host, nil })(tt.bits)
			checkNode(t, got, err, tt.want, tt.err, tt.text)
		})
	}
}

func TestPodNodeHostTellsNoName(t *testing.T) {
	broken := errors.New("no such system call")
	got, err := idgen.PodNodeOf("", func() (string, error) { return "web-3", broken })(10)
	checkNode(t, got, err, 0, idgen.ErrNode, "the host does not tell its name: no such system call")
	if !errors.Is(err, broken) {
		t.Errorf("got %v, which does not wrap the system's error", err)
	}
	got, err = idgen.PodNodeOf("", func() (string, error) { return "", nil })(10)
	checkNode(t, got, err, 0, idgen.ErrNode, `host name "" does not end in a dash and an ordinal`)
	got, err = idgen.PodNodeOf("web-3", func() (string, error) { return "", broken })(10)
	checkNode(t, got, err, 3, nil, `host name "web-3"`)
}

// prefixes reads prefixes; "" stands for the zero Prefix.
func prefixes(t *testing.T, texts ...string) []netip.Prefix {
	t.Helper()
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		if text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = p
	}
	return list
}

const (
	up       = net.FlagUp | net.FlagRunning | net.FlagBroadcast
	down     = net.FlagBroadcast
	loopback = net.FlagUp | net.FlagLoopback
)

func iface(t *testing.T, name string, flags net.Flags, addrs ...string) idgen.NetworkInterface {
	t.Helper()
	i := idgen.NetworkInterface{Name: name, Flags: flags}
	for _, text := range addrs {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			t.Fatal(err)
		}
		i.Addrs = append(i.Addrs, addr)
	}
	return i
}

func TestPrivateIPv4Node(t *testing.T) {
	lo := iface(t, "lo", loopback, "127.0.0.1", "::1")
	eth := func(addrs ...string) idgen.NetworkInterface { return iface(t, "eth0", up, addrs...) }
	type hosts = []idgen.NetworkInterface
	for _, tt := range []struct {
		name   string
		host   hosts
		within []string
		bits   int
		want   int64
		err    error
		text   string
	}{
		{"10/8", hosts{lo, eth("10.1.2.3", "fe80::1")}, nil, 24, 1<<16 | 2<<8 | 3, nil, "address 10.1.2.3 of eth0"},
		{"10/8, first and last", hosts{eth("10.255.255.255")}, nil, 24, 1<<24 - 1, nil, "address 10.255.255.255 of eth0"},
		{"172.16/12", hosts{lo, eth("172.31.255.254")}, nil, 16, 0xfffe, nil, "address 172.31.255.254 of eth0"},
		{"192.168/16", hosts{lo, eth("192.168.7.9")}, nil, 10, 3<<8 | 9, nil, "address 192.168.7.9 of eth0"},
		{"one bit", hosts{eth("10.0.0.3")}, nil, 1, 1, nil, "address 10.0.0.3 of eth0"},
		{"31 bits", hosts{eth("192.168.0.1")}, nil, 31, 0x40a80001, nil, "address 192.168.0.1 of eth0"},
		{"32 bits", hosts{eth("192.168.0.1")}, nil, 32, 0xc0a80001, nil, "address 192.168.0.1 of eth0"},
		{"63 bits", hosts{eth("192.168.0.1")}, nil, 63, 0xc0a80001, nil, "address 192.168.0.1 of eth0"},
		{"low bits that are all 0", hosts{eth("10.0.4.0")}, nil, 8, 0, nil, "address 10.0.4.0 of eth0"},
		{"low bits that are all 1", hosts{eth("10.0.4.255")}, nil, 8, 255, nil, "address 10.0.4.255 of eth0"},
		{"IPv4 in the form of IPv6", hosts{eth("::ffff:10.1.2.3")}, nil, 8, 3, nil, "address 10.1.2.3 of eth0"},

		{"no interfaces", nil, nil, 10, 0, idgen.ErrAddress, "no private IPv4 address on an interface that is up; seen: none"},
		{"loopback alone", hosts{lo}, nil, 10, 0, idgen.ErrAddress, "no private IPv4 address … seen: 127.0.0.1 of lo (loopback), ::1 of lo (loopback)"},
		{"private address on loopback", hosts{iface(t, "lo", loopback, "10.9.9.9")}, nil, 10, 0, idgen.ErrAddress, "10.9.9.9 of lo (loopback)"},
		{"loopback address elsewhere", hosts{eth("127.0.0.2")}, nil, 10, 0, idgen.ErrAddress, "127.0.0.2 of eth0 (loopback)"},
		{"down", hosts{lo, iface(t, "eth0", down, "10.1.2.3")}, nil, 10, 0, idgen.ErrAddress, "10.1.2.3 of eth0 (down)"},
		{"link-local", hosts{lo, eth("169.254.3.4")}, nil, 10, 0, idgen.ErrAddress, "169.254.3.4 of eth0 (link-local)"},
		{"not private", hosts{lo, eth("203.0.113.9")}, nil, 10, 0, idgen.ErrAddress, "203.0.113.9 of eth0 (not private)"},
		{"beside 10/8", hosts{eth("9.255.255.255", "11.0.0.0")}, nil, 10, 0, idgen.ErrAddress, "9.255.255.255 of eth0 (not private), 11.0.0.0 of eth0 (not private)"},
		{"beside 172.16/12", hosts{eth("172.15.255.255", "172.32.0.0")}, nil, 10, 0, idgen.ErrAddress, "172.15.255.255 of eth0 (not private), 172.32.0.0 of eth0 (not private)"},
		{"beside 192.168/16", hosts{eth("192.167.255.255", "192.169.0.0")}, nil, 10, 0, idgen.ErrAddress, "192.167.255.255 of eth0 (not private), 192.169.0.0 of eth0 (not private)"},
		{"IPv6 only", hosts{lo, eth("2001:db8::7", "fd00::7", "fe80::7")}, nil, 10, 0, idgen.ErrAddress,
			"the host has IPv6 addresses only … 2001:db8::7 of eth0 (IPv6), fd00::7 of eth0 (IPv6), fe80::7 of eth0 (link-local)"},
		{"IPv6 only, with a prefix", hosts{lo, eth("2001:db8::7")}, []string{"10.0.0.0/8"}, 10, 0, idgen.ErrAddress, "the host has IPv6 addresses only"},
		{"IPv6 and a public address", hosts{lo, eth("2001:db8::7", "203.0.113.9")}, nil, 10, 0, idgen.ErrAddress, "no private IPv4 address on an interface that is up"},

		{"docker beside", hosts{lo, eth("10.1.2.3"), iface(t, "docker0", up, "172.17.0.1")}, nil, 10, 0, idgen.ErrAddress,
			"10.1.2.3 of eth0, 172.17.0.1 of docker0 differ in their low 10 bits; choose one with a prefix"},
		{"docker beside, chosen", hosts{lo, eth("10.1.2.3"), iface(t, "docker0", up, "172.17.0.1")}, []string{"10.0.0.0/8"}, 8, 3, nil, "address 10.1.2.3 of eth0"},
		{"docker beside, the other chosen", hosts{lo, eth("10.1.2.3"), iface(t, "docker0", up, "172.17.0.1")}, []string{"172.16.0.0/12"}, 8, 1, nil, "address 172.17.0.1 of docker0"},
		{"docker beside, down", hosts{lo, eth("10.1.2.3"), iface(t, "docker0", down, "172.17.0.1")}, nil, 8, 3, nil, "address 10.1.2.3 of eth0"},
		{"three, two in the prefixes", hosts{eth("10.1.0.1", "10.2.0.2"), iface(t, "eth1", up, "10.3.0.3")}, []string{"10.1.0.0/16", "10.3.0.0/16"}, 8, 0, idgen.ErrAddress,
			"10.1.0.1 of eth0, 10.3.0.3 of eth1 differ in their low 8 bits"},
		{"none in the prefixes", hosts{lo, eth("10.1.2.3")}, []string{"10.2.0.0/16", "192.168.5.6/16"}, 8, 0, idgen.ErrAddress,
			"no private IPv4 address on an interface that is up within 10.2.0.0/16, 192.168.0.0/16 … 10.1.2.3 of eth0 (outside of the prefixes)"},
		{"a prefix that is one host", hosts{eth("10.1.2.3", "10.1.2.4")}, []string{"10.1.2.4/32"}, 8, 4, nil, "address 10.1.2.4 of eth0"},
		{"a prefix with host bits", hosts{eth("10.1.2.3", "10.2.2.4")}, []string{"10.1.200.200/16"}, 8, 3, nil, "address 10.1.2.3 of eth0"},
		{"end of 10/8", hosts{eth("10.255.2.3", "10.1.2.4")}, []string{"10.255.0.0/16"}, 8, 3, nil, "address 10.255.2.3 of eth0"},
		{"end of 172.16/12", hosts{eth("172.31.2.3", "10.1.2.4")}, []string{"172.31.0.0/16"}, 8, 3, nil, "address 172.31.2.3 of eth0"},
		{"end of 192.168/16", hosts{eth("192.168.255.3", "10.1.2.4")}, []string{"192.168.255.0/24"}, 8, 3, nil, "address 192.168.255.3 of eth0"},
		{"same low bits", hosts{eth("10.1.2.3"), iface(t, "eth1", up, "192.168.2.3")}, nil, 16, 2<<8 | 3, nil, "address 10.1.2.3 of eth0, 192.168.2.3 of eth1"},
		{"same low bits, one more bit", hosts{eth("10.1.2.3"), iface(t, "eth1", up, "192.168.2.3")}, nil, 17, 0, idgen.ErrAddress, "differ in their low 17 bits"},
		{"one of them 0", hosts{eth("10.0.0.0"), iface(t, "eth1", up, "10.0.0.1")}, nil, 8, 0, idgen.ErrAddress, "differ in their low 8 bits"},
		{"differ, 63 bits", hosts{eth("10.0.0.1", "10.0.0.2")}, nil, 63, 0, idgen.ErrAddress, "differ in their low 32 bits"},
		{"one address twice", hosts{eth("10.1.2.3"), iface(t, "bond0", up, "10.1.2.3")}, nil, 8, 3, nil, "address 10.1.2.3 of eth0"},
		{"one address twice, one down", hosts{iface(t, "eth0", down, "10.1.2.3"), iface(t, "bond0", up, "10.1.2.3")}, nil, 8, 3, nil, "address 10.1.2.3 of bond0"},
		{"one address in both forms", hosts{eth("10.1.2.3", "::ffff:10.1.2.3")}, nil, 8, 3, nil, "address 10.1.2.3 of eth0"},

		{"shared space, not named", hosts{lo, eth("100.64.1.2")}, nil, 8, 0, idgen.ErrAddress, "100.64.1.2 of eth0 (in the shared space 100.64.0.0/10, which no prefix names)"},
		{"shared space, named", hosts{lo, eth("100.64.1.2", "10.1.2.3")}, []string{"100.64.0.0/10"}, 8, 2, nil, "address 100.64.1.2 of eth0"},
		{"shared space, a part named", hosts{lo, eth("100.127.1.2", "10.1.2.3")}, []string{"100.127.0.0/16"}, 8, 2, nil, "address 100.127.1.2 of eth0"},
		{"shared space, another part named", hosts{lo, eth("100.64.1.2")}, []string{"100.127.0.0/16"}, 8, 0, idgen.ErrAddress, "which no prefix names"},
		{"shared space beside, not named", hosts{lo, eth("100.64.1.2", "10.1.2.3")}, nil, 8, 3, nil, "address 10.1.2.3 of eth0"},
		{"shared space, a prefix of everything", hosts{lo, eth("100.64.1.2", "10.1.2.3")}, []string{"0.0.0.0/0"}, 8, 3, nil, "address 10.1.2.3 of eth0"},
		{"beside the shared space", hosts{eth("100.128.0.0", "100.63.255.255")}, nil, 8, 0, idgen.ErrAddress, "100.128.0.0 of eth0 (not private), 100.63.255.255 of eth0 (not private)"},

		{"zero prefix", hosts{eth("10.1.2.3")}, []string{""}, 8, 0, idgen.ErrAddress, "a prefix is not valid"},
		{"zero prefix after a good one", hosts{eth("10.1.2.3")}, []string{"10.0.0.0/8", ""}, 8, 0, idgen.ErrAddress, "a prefix is not valid"},
		{"prefix of IPv6", hosts{eth("10.1.2.3")}, []string{"fd00::/8"}, 8, 0, idgen.ErrAddress, "the prefix fd00::/8 is not one of IPv4"},
		{"prefix of IPv4 in IPv6", hosts{eth("10.1.2.3")}, []string{"::ffff:10.0.0.0/104"}, 8, 0, idgen.ErrAddress, "is not one of IPv4"},
		{"prefix of public addresses", hosts{eth("203.0.113.9")}, []string{"203.0.113.0/24"}, 8, 0, idgen.ErrAddress, "the prefix 203.0.113.0/24 holds no private address"},
		{"prefix of loopback", hosts{lo}, []string{"127.0.0.0/8"}, 8, 0, idgen.ErrAddress, "the prefix 127.0.0.0/8 holds no private address"},
		{"prefix around the shared space", hosts{eth("100.64.1.2")}, []string{"100.0.0.0/8"}, 8, 0, idgen.ErrAddress, "the prefix 100.0.0.0/8 holds no private address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := idgen.PrivateIPv4NodeOf(func() ([]idgen.NetworkInterface, error) { return tt.host, nil }, prefixes(t, tt.within...)...)
			got, err := source(tt.bits)
			checkNode(t, got, err, tt.want, tt.err, tt.text)
		})
	}
}

func TestPrivateIPv4NodeInterfacesUnknown(t *testing.T) {
	broken := errors.New("permission denied")
	list := func() ([]idgen.NetworkInterface, error) {
		return []idgen.NetworkInterface{iface(t, "eth0", up, "10.1.2.3")}, broken
	}
	got, err := idgen.PrivateIPv4NodeOf(list)(10)
	checkNode(t, got, err, 0, idgen.ErrAddress, "the system does not tell its interfaces: permission denied")
	if !errors.Is(err, broken) {
		t.Errorf("got %v, which does not wrap the system's error", err)
	}
}

// A machine that runs containers has hundreds of interfaces; the error stays readable.
func TestPrivateIPv4NodeManyAddresses(t *testing.T) {
	for name, first := range map[string]string{"candidates": "10.0.0.1", "skipped": "203.0.113.1"} {
		t.Run(name, func(t *testing.T) {
			addr := netip.MustParseAddr(first)
			var host []idgen.NetworkInterface
			for n := range 200 {
				host = append(host, iface(t, "veth"+strconv.Itoa(n), up, addr.String()))
				addr = addr.Next()
			}
			got, err := idgen.PrivateIPv4NodeOf(func() ([]idgen.NetworkInterface, error) { return host, nil })(10)
			checkNode(t, got, err, 0, idgen.ErrAddress, first+" of veth0 … of veth15 … 184 more")
		})
	}
}

// The caller may use its prefixes again.
func TestPrivateIPv4NodeKeepsItsPrefixes(t *testing.T) {
	list := func() ([]idgen.NetworkInterface, error) {
		return []idgen.NetworkInterface{iface(t, "eth0", up, "10.1.2.3", "10.2.2.4")}, nil
	}
	within := prefixes(t, "10.1.0.0/16")
	source := idgen.PrivateIPv4NodeOf(list, within...)
	copy(within, prefixes(t, "10.2.0.0/16"))
	if got, err := source(8); err != nil || got.Value != 3 {
		t.Errorf("got %+v, %v, want 3", got, err)
	}
}

func TestNodeSourcesRefuseBits(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_NODE", "0")
	list := func() ([]idgen.NetworkInterface, error) {
		return []idgen.NetworkInterface{iface(t, "eth0", up, "10.1.2.0")}, nil
	}
	for name, source := range map[string]idgen.NodeSource{
		"environment": idgen.EnvNode("SNOWKEY_TEST_NODE"),
		"pod":         idgen.PodNode("web-0"),
		"address":     idgen.PrivateIPv4NodeOf(list),
	} {
		for _, bits := range []int{math.MinInt, -64, -1, 0, 64, 65, 128, math.MaxInt} {
			got, err := source(bits)
			checkNode(t, got, err, 0, idgen.ErrRange, fmt.Sprintf("a number of %d bits, must be 1 to 63", bits))
		}
		for _, bits := range []int{1, 8, 63} {
			if got, err := source(bits); err != nil || got.Origin == "" {
				t.Errorf("%s, %d bits: got %+v, %v", name, bits, got, err)
			}
		}
	}
}

// On the machine that runs the test each source has a number, or an error of the kind that it promises.
func TestNodeSourcesOnThisMachine(t *testing.T) {
	for bits := 1; bits <= 63; bits++ {
		got, err := idgen.PodNode("")(bits)
		if host, hostErr := os.Hostname(); hostErr == nil {
			want, wantErr := idgen.PodNode(host)(bits)
			if got != want || (err == nil) != (wantErr == nil) {
				t.Errorf("PodNode, %d bits: got %+v, %v, want %+v, %v as for %q", bits, got, err, want, wantErr, host)
			}
		}
		if err != nil && !errors.Is(err, idgen.ErrNode) && !errors.Is(err, idgen.ErrRange) {
			t.Errorf("PodNode, %d bits: got %v", bits, err)
		}
		for _, within := range [][]netip.Prefix{nil, prefixes(t, "10.0.0.0/8"), prefixes(t, "100.64.0.0/10")} {
			got, err := idgen.PrivateIPv4Node(within...)(bits)
			if err != nil {
				if !errors.Is(err, idgen.ErrAddress) || got != (idgen.NodeNumber{}) {
					t.Errorf("PrivateIPv4Node(%v), %d bits: got %+v, %v", within, bits, got, err)
				}
				continue
			}
			if got.Value < 0 || got.Value >= 1<<min(bits, 32) || !strings.HasPrefix(got.Origin, "address ") {
				t.Errorf("PrivateIPv4Node(%v), %d bits: got %+v", within, bits, got)
			}
		}
	}
	got, err := idgen.PrivateIPv4Node()(24)
	t.Logf("24 bits of this machine's address: %+v, %v", got, err)
}

// What the real listing hands on is what the system has.
func TestPrivateIPv4NodeSeesThisMachine(t *testing.T) {
	// No machine has an address in this prefix alone, so that the error lists all that it has.
	_, err := idgen.PrivateIPv4Node(prefixes(t, "10.213.97.251/32")...)(24)
	if err == nil {
		t.Skip("needs a machine without the address 10.213.97.251")
	}
	interfaces, listErr := net.Interfaces()
	if listErr != nil {
		t.Skipf("needs the machine's interfaces: %v", listErr)
	}
	var addrs []string
	for _, i := range interfaces {
		list, listErr := i.Addrs()
		if listErr != nil {
			t.Skipf("needs the machine's addresses: %v", listErr)
		}
		for _, a := range list {
			ip, _, _ := strings.Cut(a.String(), "/")
			addrs = append(addrs, ip+" of "+i.Name)
		}
	}
	if len(addrs) > 16 {
		t.Skipf("needs a machine with at most 16 addresses, this one has %d", len(addrs))
	}
	slices.Sort(addrs)
	for _, addr := range addrs {
		if !strings.Contains(err.Error(), addr+" (") {
			t.Errorf("got %v, want %s in it", err, addr)
		}
	}
}
