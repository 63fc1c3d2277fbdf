package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Galera is what a session of MariaDB has set on a node of a Galera cluster.
type Galera struct {
	On              bool   // wsrep_on: what the session commits goes to the other nodes
	SyncWait        int64  // wsrep_sync_wait: the statements that first wait for what other nodes have committed
	ControlsNumbers bool   // wsrep_auto_increment_control: the nodes divide the numbers of AUTO_INCREMENT among themselves
	Options         string // wsrep_provider_options
}

// inCluster is true on a node of a Galera cluster. A server that was built without Galera has none of its variables, so the catalogue is asked.
const inCluster = "0 /*M! + (SELECT COUNT(*) FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME = 'WSREP_PROVIDER' AND VARIABLE_VALUE NOT IN ('', 'none')) */"

// syncWaits are the statements that have to wait, by the bits of wsrep_sync_wait: 1 SELECT and START TRANSACTION, 2 UPDATE and DELETE, 4 INSERT and REPLACE.
const syncWaits = 1 | 2 | 4

func readGalera(ctx context.Context, conn *sql.Conn) (*Galera, error) {
	g := new(Galera)
	if err := One(ctx, conn, "SELECT @@wsrep_on, @@wsrep_sync_wait, @@wsrep_auto_increment_control, @@wsrep_provider_options", nil,
		&g.On, &g.SyncWait, &g.ControlsNumbers, &g.Options); err != nil {
		return nil, fmt.Errorf("reading the settings of the Galera node: %w", err)
	}
	return g, nil
}

// durability returns the settings with which a cluster forgets what a node has acknowledged, or seems to.
func (g *Galera) durability() (findings []Finding) {
	if !g.On {
		findings = append(findings, unsafe("wsrep_on is OFF in the session: what it commits stays on this node of the Galera cluster, and the other nodes give the same numbers out; set it to ON"))
	}
	if missing := syncWaits &^ g.SyncWait; missing != 0 {
		findings = append(findings, unsafe("wsrep_sync_wait is %d on a node of a Galera cluster, without the bits of %d: a statement may not see what another node has committed, so that it seems to be lost; "+
			"set it to %d, in the DSN of the pool that makes keys (wsrep_sync_wait=%d) or for the server", g.SyncWait, missing, g.SyncWait|syncWaits, g.SyncWait|syncWaits))
	}
	for _, name := range []string{"pc.ignore_quorum", "pc.ignore_sb"} {
		if value := g.option(name); !slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(value)) {
			findings = append(findings, unsafe("%s is %s in wsrep_provider_options: when the network between the nodes breaks, both sides go on, and give the same numbers out; set it to false", name, value))
		}
	}
	return findings
}

// option returns the value of one of the provider's options, which are "name = value; name = value; ".
func (g *Galera) option(name string) string {
	for option := range strings.SplitSeq(g.Options, ";") {
		if key, value, _ := strings.Cut(option, "="); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
