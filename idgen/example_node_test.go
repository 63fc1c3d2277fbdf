package idgen_test

import (
	"fmt"
	"log"
	"net/netip"
	"os"

	"github.com/snowkey-go/snowkey/idgen"
)

// The number from the environment, for a field of 10 bits.
func ExampleEnvNode() {
	defer os.Unsetenv("NODE_ID")
	source := idgen.EnvNode("NODE_ID")
	for _, value := range []string{"7", "1024", ""} {
		if err := os.Setenv("NODE_ID", value); err != nil {
			log.Fatal(err)
		}
		n, err := source(10)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%d, from %s\n", n.Value, n.Origin)
	}
	// Output:
	// 7, from environment variable NODE_ID="7"
	// idgen: value out of range: environment variable NODE_ID="1024" is above the limit, want 0 to 1023
	// idgen: node number missing: environment variable NODE_ID is empty, want 0 to 1023
}

// The pod of a StatefulSet, and that of a Deployment, which has no ordinal.
func ExamplePodNode() {
	for _, host := range []string{"web-3", "web-7d4b9c6f5-x2k9q"} {
		n, err := idgen.PodNode(host)(10)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%d, from %s\n", n.Value, n.Origin)
	}
	// Output:
	// 3, from host name "web-3"
	// idgen: node number missing: host name "web-7d4b9c6f5-x2k9q" does not end in a dash and an ordinal, as web-3 does
}

// The pods of a cluster with the network 10.244.0.0/16, whose addresses differ in their low 16 bits.
func ExamplePrivateIPv4Node() {
	source := idgen.PrivateIPv4Node(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244}), 16))
	n, err := source(16)
	if err != nil {
		log.Print(err)
		return
	}
	log.Printf("node number %d, %s", n.Value, n.Origin)
}
