package idgen

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// NodeSource finds the number for a layout's field that is the given number of bits wide, 1 to 63, when a generator is made. The
// number is 0 to 2^bits-1; a source that cannot find one returns an error, never 0 in its place. The sources of this package do
// no more than read the environment, the host's name or its interfaces, hold nothing, and are safe for concurrent use. Their
// errors wrap [ErrRange] when bits is not 1 to 63.
//
// A source only finds a number. None of those here knows what number another process has, see what each does not protect from.
type NodeSource func(bits int) (NodeNumber, error)

// NodeNumber is the number that a [NodeSource] has found.
type NodeNumber struct {
	Value  int64
	Origin string // where it comes from, for logs: environment variable NODE_ID="7", host name "web-3", address 10.1.2.3 of eth0
}

// EnvNode takes the number from an environment variable: a decimal number of digits alone.
//
// The error wraps [ErrNode] when the variable is unset, empty or no number, and [ErrRange] when the number is negative or above
// 2^bits-1; it shows the variable's value.
//
// It does not protect from a value that two processes were given, by hand, by a template that is deployed twice, or by a parent
// process that hands its environment down to each of its children.
func EnvNode(variable string) NodeSource {
	return func(bits int) (NodeNumber, error) {
		most, err := greatest(bits)
		if err != nil {
			return NodeNumber{}, err
		}
		if variable == "" {
			return NodeNumber{}, fmt.Errorf("%w: the name of the environment variable is empty", ErrNode)
		}
		text, found := os.LookupEnv(variable)
		if !found {
			return NodeNumber{}, fmt.Errorf("%w: environment variable %s is not set, want 0 to %d", ErrNode, variable, most)
		}
		if text == "" {
			return NodeNumber{}, fmt.Errorf("%w: environment variable %s is empty, want 0 to %d", ErrNode, variable, most)
		}
		origin := "environment variable " + variable + "=" + clip(text)
		if digits, negative := strings.CutPrefix(text, "-"); !isDigits(digits) {
			return NodeNumber{}, fmt.Errorf("%w: %s is no decimal number, want 0 to %d", ErrNode, origin, most)
		} else if negative {
			return NodeNumber{}, fmt.Errorf("%w: %s is negative, want 0 to %d", ErrRange, origin, most)
		}
		return numbered(text, most, origin)
	}
}

// PodNode takes the number from the end of the host name that Kubernetes gives a pod of a StatefulSet, its ordinal: 3 for web-3.
// It reads the name up to the first dot, so a fully qualified one will do. Without a name, "", it asks the host for its own. The
// pods of an indexed Job have such names too.
//
// The error wraps [ErrNode] when the name does not end in a dash and an ordinal without leading zeros, as those of a Deployment's
// pods do not, or the host does not tell its name, and [ErrRange] when the ordinal is above 2^bits-1.
//
// It does not protect from two StatefulSets, each with a pod of that ordinal, in one namespace or several; from two processes in
// one pod; from a pod that is made again while the old one still runs, on a machine that the cluster has lost sight of, or after
// it was deleted by force; or from names that only look alike: a pod on the host's network has the name of the machine, such as
// ip-10-0-4-7, and the random end of a Deployment's or a DaemonSet's pod is digits alone once in some 850.
func PodNode(hostname string) NodeSource { return podNode(hostname, os.Hostname) }

func podNode(hostname string, ask func() (string, error)) NodeSource {
	return func(bits int) (NodeNumber, error) {
		most, err := greatest(bits)
		if err != nil {
			return NodeNumber{}, err
		}
		host := hostname
		if host == "" {
			if host, err = ask(); err != nil {
				return NodeNumber{}, fmt.Errorf("%w: the host does not tell its name: %w", ErrNode, err)
			}
		}
		origin := "host name " + clip(host)
		label, _, _ := strings.Cut(host, ".")
		dash := strings.LastIndexByte(label, '-')
		// The dash has a name before it that ends in no dash itself, which is no name of a StatefulSet and makes -3 out of 3.
		if dash < 1 || label[dash-1] == '-' || !isDigits(label[dash+1:]) {
			return NodeNumber{}, fmt.Errorf("%w: %s does not end in a dash and an ordinal, as web-3 does", ErrNode, origin)
		}
		ordinal := label[dash+1:]
		if len(ordinal) > 1 && ordinal[0] == '0' {
			return NodeNumber{}, fmt.Errorf("%w: %s ends in %s, the ordinal of a StatefulSet's pod has no leading zero", ErrNode, origin, clip(ordinal))
		}
		return numbered(ordinal, most, origin)
	}
}

// PrivateIPv4Node takes the number from the low bits of the host's private IPv4 address, as the variant [K8sIP] does with 24: one
// in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 on an interface that is up, not loopback. With more than 32 bits the number is
// the whole address. Where prefixes are given, only addresses within one of them count; those of the shared address space
// 100.64.0.0/10 count only where a prefix lies in it.
//
// Several addresses will do when they have the low bits in common. A number of 0 is the address's own, that of 10.0.4.0 with 8
// bits. The error wraps [ErrAddress] when there is no such address, with those that there are and why each does not count; when
// there are several with different low bits, which have to be told apart by a prefix then; when a prefix is not valid, not of
// IPv4, or holds no private address; and when the system does not tell its interfaces.
//
// It does not protect from two processes on one host, which have one address, nor do pods on the host's network have one of their
// own; from two hosts whose addresses differ above the low bits only, as 10.0.1.7 and 10.0.5.7 do with 10 bits, so the bits have
// to cover the host's part of the network: 16 for a /16; from hosts of two networks behind address translation that use the same
// private addresses; or from an address that passes to another host while ids of the first one's last ticks are still being made.
func PrivateIPv4Node(within ...netip.Prefix) NodeSource {
	return privateIPv4Node(systemInterfaces, within)
}

// networkInterface is what a source needs to know of an interface.
type networkInterface struct {
	Name  string
	Flags net.Flags
	Addrs []netip.Addr
}

func privateIPv4Node(list func() ([]networkInterface, error), within []netip.Prefix) NodeSource {
	within = slices.Clone(within)
	return func(bits int) (NodeNumber, error) {
		if _, err := greatest(bits); err != nil {
			return NodeNumber{}, err
		}
		for _, p := range within {
			if err := checkPrefix(p); err != nil {
				return NodeNumber{}, err
			}
		}
		interfaces, err := list()
		if err != nil {
			return NodeNumber{}, fmt.Errorf("%w: the system does not tell its interfaces: %w", ErrAddress, err)
		}
		var found, skipped []string
		var values []int64
		seen, v4, v6 := map[netip.Addr]bool{}, false, false
		for _, i := range interfaces {
			for _, addr := range i.Addrs {
				addr = addr.Unmap()
				where := addr.String() + " of " + i.Name
				reason := unusable(i, addr, within)
				v4 = v4 || addr.Is4() && reason != isLoopback
				v6 = v6 || addr.Is6() && reason != isLoopback
				if reason != "" {
					skipped = append(skipped, where+" ("+reason+")")
				} else if !seen[addr] { // on two interfaces it is still one address
					seen[addr] = true
					found = append(found, where)
					values = append(values, lowBits(addr, bits))
				}
			}
		}
		if len(found) == 0 {
			return NodeNumber{}, fmt.Errorf("%w: %s; %s", ErrAddress, noAddress(v4, v6, within), enumerate("seen: ", skipped))
		}
		if slices.Min(values) != slices.Max(values) {
			return NodeNumber{}, fmt.Errorf("%w: %s differ in their low %d bits; choose one with a prefix that holds no other",
				ErrAddress, enumerate("", found), min(bits, 32))
		}
		return NodeNumber{Value: values[0], Origin: enumerate("address ", found)}, nil
	}
}

const isLoopback = "loopback"

// unusable says why an address is not one to take a number from, and "" when it is.
func unusable(i networkInterface, addr netip.Addr, within []netip.Prefix) string {
	holds := func(p netip.Prefix) bool { return p.Contains(addr) }
	switch {
	case i.Flags&net.FlagLoopback != 0 || addr.IsLoopback():
		return isLoopback
	case i.Flags&net.FlagUp == 0:
		return "down"
	case addr.IsLinkLocalUnicast():
		return "link-local"
	case !addr.Is4():
		return "IPv6"
	case sharedSpace.Contains(addr):
		if !slices.ContainsFunc(within, func(p netip.Prefix) bool { return isShared(p) && holds(p) }) {
			return "in the shared space " + sharedSpace.String() + ", which no prefix names"
		}
	case !addr.IsPrivate():
		return "not private"
	case len(within) > 0 && !slices.ContainsFunc(within, holds):
		return "outside of the prefixes"
	}
	return ""
}

func noAddress(v4, v6 bool, within []netip.Prefix) string {
	switch {
	case v6 && !v4:
		return "the host has IPv6 addresses only"
	case len(within) == 0:
		return "no private IPv4 address on an interface that is up"
	}
	texts := make([]string, len(within))
	for i, p := range within {
		texts[i] = p.Masked().String()
	}
	return "no private IPv4 address on an interface that is up " + enumerate("within ", texts)
}

// lowBits returns the low bits of an IPv4 address as a number.
func lowBits(addr netip.Addr, bits int) int64 {
	four := addr.As4()
	return int64(binary.BigEndian.Uint32(four[:])) & (1<<bits - 1)
}

// sharedSpace is that of RFC 6598, the blocks before it are the private ones of RFC 1918.
var (
	privateSpaces = []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom4([4]byte{10}), 8),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16}), 12),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168}), 16),
	}
	sharedSpace = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10)
)

// isShared reports whether all of a prefix is shared address space.
func isShared(p netip.Prefix) bool { return p.Bits() >= sharedSpace.Bits() && sharedSpace.Overlaps(p) }

func checkPrefix(p netip.Prefix) error {
	switch {
	case !p.IsValid():
		return fmt.Errorf("%w: a prefix is not valid, want one like 10.1.0.0/16", ErrAddress)
	case !p.Addr().Is4():
		return fmt.Errorf("%w: the prefix %s is not one of IPv4", ErrAddress, p)
	case !isShared(p) && !slices.ContainsFunc(privateSpaces, p.Overlaps):
		return fmt.Errorf("%w: the prefix %s holds no private address", ErrAddress, p)
	}
	return nil
}

// enumerate joins the parts of an error or an origin; hosts that run containers have hundreds of addresses.
func enumerate(before string, parts []string) string {
	const most = 16
	if n := len(parts) - most; n > 0 {
		parts = append(slices.Clone(parts[:most]), fmt.Sprintf("%d more", n))
	}
	if len(parts) == 0 {
		return before + "none"
	}
	return before + strings.Join(parts, ", ")
}

// systemInterfaces returns the host's interfaces with their addresses.
func systemInterfaces() ([]networkInterface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	interfaces := make([]networkInterface, 0, len(list))
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.Name, err)
		}
		n := networkInterface{Name: i.Name, Flags: i.Flags}
		for _, a := range addrs {
			if ipNet, ok := a.(*net.IPNet); ok {
				if addr, ok := netip.AddrFromSlice(ipNet.IP); ok {
					n.Addrs = append(n.Addrs, addr)
				}
			}
		}
		interfaces = append(interfaces, n)
	}
	return interfaces, nil
}

// greatest returns the greatest number of a field of that many bits.
func greatest(bits int) (int64, error) {
	if bits < 1 || bits > maxBits {
		return 0, fmt.Errorf("%w: a number of %d bits, must be 1 to %d", ErrRange, bits, maxBits)
	}
	return 1<<bits - 1, nil
}

// numbered returns the number that digits are, when it is at most the one given.
func numbered(digits string, most int64, origin string) (NodeNumber, error) {
	// The only error left is that of a number above 2^63-1.
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n <= most {
		return NodeNumber{Value: n, Origin: origin}, nil
	}
	return NodeNumber{}, fmt.Errorf("%w: %s is above the limit, want 0 to %d", ErrRange, origin, most)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
