//go:build linux

package etcdgrant_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/etcdgrant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// TestStore runs the conformance suite, in the long form also with three members and with a limited account. Each of its tests has keys of its own.
func TestStore(t *testing.T) {
	var tests atomic.Int64
	suite := func(client *clientv3.Client) func(t *testing.T) {
		return func(t *testing.T) {
			granttest.Run(t, func(*testing.T) grant.Store {
				return etcdgrant.New(client, etcdgrant.WithPrefix(fmt.Sprintf("snowkey/%d/", tests.Add(1))))
			})
		}
	}
	t.Run("one member", suite(startMember(t).dial()))
	if testprocess.IsLong() {
		t.Run("three members", suite(dial(t, nil, startCluster(t)...)))
		secured := startMember(t)
		limitAccount(t, secured)
		t.Run("account", suite(secured.dial(asApp)))
	}
}

// limitAccount has a member ask for passwords, and makes the account of an application that may use keys below snowkey/ alone.
func limitAccount(t *testing.T, m *member) {
	t.Helper()
	client := m.dial()
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(client.UserAdd(t.Context(), "root", "secret"))
	do(client.UserGrantRole(t.Context(), "root", "root"))
	do(client.RoleAdd(t.Context(), "app"))
	do(client.RoleGrantPermission(t.Context(), "app", "snowkey/", clientv3.GetPrefixRangeEnd("snowkey/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	do(client.UserAdd(t.Context(), "app", "secret"))
	do(client.UserGrantRole(t.Context(), "app", "app"))
	do(client.AuthEnable(t.Context()))
}

func asApp(c *clientv3.Config) { c.Username, c.Password = "app", "secret" }

func none(number int64) grant.Row { return grant.Row{Number: number, Holder: grant.Absent} }
