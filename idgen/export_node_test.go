package idgen

import "net/netip"

// NetworkInterface is what sources know of an interface.
type NetworkInterface = networkInterface

// PodNodeOf is PodNode on a host that tells its name by a function.
func PodNodeOf(hostname string, ask func() (string, error)) NodeSource {
	return podNode(hostname, ask)
}

// PrivateIPv4NodeOf is PrivateIPv4Node on a host with the interfaces that a function lists.
func PrivateIPv4NodeOf(list func() ([]NetworkInterface, error), within ...netip.Prefix) NodeSource {
	return privateIPv4Node(list, within)
}
