//go:build linux

package testprocess

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// jars is where install.sh puts those of ZooKeeper, unless the variable SNOWKEY_TEST_ZOOKEEPER names another folder.
const jars = "/usr/local/lib/snowkey-tests/zookeeper"

// ZooKeeper returns the command that starts a ZooKeeper with a configuration, in a small virtual machine. Its log is on the standard error. It skips the test where java or the
// jars are missing, or fails it where SNOWKEY_TEST_REQUIRE has zookeeper.
func ZooKeeper(t testing.TB, config string) *exec.Cmd {
	t.Helper()
	java := Path(t, "java", "zookeeper")
	folder := cmp.Or(os.Getenv("SNOWKEY_TEST_ZOOKEEPER"), jars)
	if _, err := os.Stat(filepath.Join(folder, "zookeeper.jar")); err != nil {
		giveUp(t, "zookeeper", "no ZooKeeper found in "+folder+": `internal/dbtest/install.sh` installs it where java is found")
	}
	return exec.Command(java, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Dzookeeper.admin.enableServer=false",
		"-cp", filepath.Join(folder, "*"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
}
