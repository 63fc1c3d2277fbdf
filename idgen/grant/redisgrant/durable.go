package redisgrant

import (
	"context"
	"errors"
	"fmt"

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

// examine asks the server of a key for its role and its settings. Those that are not safe are an error, or with WithUnsafe a warning each.
func (s *Store) examine(ctx context.Context, key string) (warnings []string, err error) {
	node, err := s.node(ctx, key)
	if err != nil {
		return nil, err
	}
	pipe := node.Pipeline()
	role := pipe.Do(ctx, "ROLE")
	values := make([]*redis.MapStringStringCmd, len(settings))
	for i, setting := range settings {
		values[i] = pipe.ConfigGet(ctx, setting.name)
	}
	_, err = pipe.Exec(ctx)
	if replied := (redis.Error)(nil); err != nil && !errors.As(err, &replied) {
		return nil, err
	}
	switch is, err := role.Slice(); {
	case err != nil && (!s.durable || !denied(err)):
		return nil, fmt.Errorf("asking for its role: %w", err)
	case err == nil && len(is) > 0 && is[0] != "master":
		return nil, fmt.Errorf("%w: its role is %v; name the master", grant.ErrReadOnly, is[0])
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
	if len(found) == 0 {
		return nil, nil
	}
	if !s.unsafe {
		return nil, fmt.Errorf("%w: %w", grant.ErrUnsafe, errors.Join(found...))
	}
	for _, f := range found {
		warnings = append(warnings, f.Error())
	}
	return warnings, nil
}

// denied reports whether the server refuses a command: by an ACL, or as one that was renamed, which hosted services do.
func denied(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "ERR unknown command") || redis.HasErrorPrefix(err, "unknown command")
}
