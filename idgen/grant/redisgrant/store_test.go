//go:build linux

package redisgrant_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
)

// account returns the command that makes an account with the rights that the documentation names, for keys with a prefix.
func account(prefix string) []any {
	return []any{"ACL", "SETUSER", "app", "on", ">secret", "~" + prefix + "*", "+eval", "+exists", "+hget", "+hgetall", "+hlen", "+hmget", "+hset", "+hsetnx", "+info", "+lpos", "+lrange", "+ltrim",
		"+rename", "+role", "+rpush", "+time", "+config|get", "+wait"}
}

// TestStore runs the conformance suite. Each of its tests has keys of its own.
func TestStore(t *testing.T) {
	s := startServer(t, durable...)
	s.do(account("snowkey-")...)
	var tests atomic.Int64
	suite := func(client redis.UniversalClient, options ...redisgrant.Option) func(t *testing.T) {
		return func(t *testing.T) {
			granttest.Run(t, func(*testing.T) grant.Store {
				prefix := redisgrant.WithPrefix(fmt.Sprintf("snowkey-%d:", tests.Add(1)))
				return redisgrant.New(client, append(options[:len(options):len(options)], prefix)...)
			})
		}
	}
	t.Run("default", suite(s.client()))
	t.Run("RESP2", suite(s.client(func(o *redis.Options) { o.Protocol = 2 })))
	t.Run("one connection", suite(s.client(func(o *redis.Options) { o.PoolSize = 1 })))
	t.Run("account", suite(s.client(func(o *redis.Options) { o.Username, o.Password = "app", "secret" })))
	_, cluster := startCluster(t)
	t.Run("cluster", suite(cluster))
}
