package redisgrant

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// settings are those with which Redis keeps what it has acknowledged.
var settings = []struct{ name, safe, otherwise string }{
	{"appendonly", "yes", "a restart of Redis forgets grants"},
	{"appendfsync", "always", "a crash of the machine forgets the last grants"},
	{"no-appendfsync-on-rewrite", "no", "a crash of the machine during a rewrite of the log forgets the last grants"},
	{"maxmemory-policy", "noeviction", "a Redis that is full may delete grants"},
}

// examine asks the server of a key for its role and its settings. Those that are not safe are an error, or with WithUnsafe a warning each. Replicas for which no
// change waits are a warning: not each of them can take over, and an operator may attach one while keys are made.
func (s *Store) examine(ctx context.Context, key string) (warnings []string, err error) {
	var exists *redis.IntCmd
	var role *redis.Cmd
	var persistence *redis.StringCmd
	values := make([]*redis.MapStringStringCmd, len(settings))
	err = s.pipeline(ctx, key, func(pipe redis.Pipeliner) {
		exists = pipe.Exists(ctx, key)
		role = pipe.Do(ctx, "ROLE")
		persistence = pipe.Info(ctx, "persistence")
		for i, setting := range settings {
			values[i] = pipe.ConfigGet(ctx, setting.name)
		}
	})
	if replied := (redis.Error)(nil); err != nil && (role == nil || !errors.As(err, &replied)) {
		return nil, err
	}
	is, err := role.Slice()
	switch {
	case err != nil && (!s.durable || !denied(err)):
		return nil, fmt.Errorf("asking for its role: %w", err)
	case err == nil && len(is) > 0 && is[0] != "master":
		if cluster, ok := s.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // it takes the server for the master still
		}
		return nil, fmt.Errorf("%w: its role is %v; name the master", grant.ErrReadOnly, is[0])
	case exists.Err() != nil: // such as that the space is at another server
		return nil, exists.Err()
	}
	var found []error
	for i, setting := range settings {
		all, err := values[i].Result()
		value, told := all[setting.name]
		switch {
		case err != nil && !denied(err):
			return nil, fmt.Errorf("asking for %s: %w", setting.name, err)
		case !told && s.durable:
		case !told:
			why := errors.New("CONFIG GET has no answer")
			if err != nil {
				why = err
			}
			found = append(found, fmt.Errorf("the server does not tell %s, which has to be %s (%w); allow the account CONFIG GET, or vouch for the settings with redisgrant.WithDurable",
				setting.name, setting.safe, why))
		case value != setting.safe:
			found = append(found, fmt.Errorf("%s is %s, so %s; set it to %s by CONFIG SET and in redis.conf", setting.name, value, setting.otherwise, setting.safe))
		}
	}
	if text, err := persistence.Result(); err == nil && awaitsLog(text) {
		found = append(found, errors.New("the log is not written yet, so a restart of Redis forgets grants; after CONFIG SET appendonly yes wait until INFO persistence has aof_rewrite_in_progress:0 and aof_rewrite_scheduled:0"))
	}
	if len(found) > 0 && !s.unsafe {
		return nil, fmt.Errorf("%w: %w", grant.ErrUnsafe, errors.Join(found...))
	}
	for _, f := range found {
		warnings = append(warnings, f.Error())
	}
	if n := replicas(is); n > s.replicas {
		warnings = append(warnings, fmt.Sprintf("a change waits for %d of the server's replicas, of which %d follow, so a failover may forget grants; wait for all of them, those that are down too: redisgrant.WithReplicas, or ?replicas=N in a store's URL",
			s.replicas, n))
	}
	return warnings, nil
}

// awaitsLog reports whether the first writing of the log has not ended, by what INFO persistence says: until then the server has no log that it would read.
func awaitsLog(info string) bool {
	has := func(line string) bool { return strings.Contains(info, "\n"+line+"\r") }
	return has("aof_enabled:1") && has("aof_base_size:0") && (has("aof_rewrite_in_progress:1") || has("aof_rewrite_scheduled:1"))
}

// replicas returns how many replicas follow, of a master's answer to ROLE: its name, its position, and a list of replicas.
func replicas(role []any) int {
	if len(role) < 3 {
		return 0
	}
	list, _ := role[2].([]any)
	return len(list)
}

// denied reports whether the server refuses a command: by an ACL, or as one that was renamed, which hosted services do.
func denied(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "ERR unknown command") || redis.HasErrorPrefix(err, "unknown command")
}
