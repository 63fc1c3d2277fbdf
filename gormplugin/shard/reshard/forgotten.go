package reshard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// forgotten refuses a plan that leaves a table of the map out: its rows would be looked for where they are not, once the next map is in force. Such a
// table is told by its names, which are there with the suffixes of all shards of the database that have buckets; nothing is told of a shard without one.
func (s *scene) forgotten(ctx context.Context) error {
	for _, database := range slices.Sorted(maps.Keys(s.catalogs)) {
		suffixes := s.suffixes(database)
		if len(suffixes) == 0 || slices.Contains(suffixes, "") {
			continue
		}
		names, err := s.catalogs[database].Tables(ctx)
		if err != nil {
			return fmt.Errorf("reshard: the database %q: %w", database, err)
		}
		there := map[string]bool{}
		for _, name := range names {
			there[name.Name] = true
		}
		for _, name := range names {
			base, is := strings.CutSuffix(name.Name, suffixes[0])
			if !is || base == "" || s.isNamed(base) {
				continue
			}
			if !slices.ContainsFunc(suffixes, func(suffix string) bool { return !there[base+suffix] }) {
				return fmt.Errorf("%w: the plan leaves out the table %q, which is there for every shard: name it with the others, since its buckets move too, or as one that is apart from the map", ErrPlan, base)
			}
		}
	}
	return nil
}

// suffixes returns those of the shards of a database that have buckets.
func (s *scene) suffixes(database string) []string {
	var suffixes []string
	for i, shard := range s.now.Shards() {
		if shard.Database == database && len(s.now.Owned(i)) > 0 {
			suffixes = append(suffixes, shard.Suffix)
		}
	}
	return suffixes
}

// isNamed tells whether a table is one of the plan's, or apart from the map.
func (s *scene) isNamed(base string) bool {
	named := slices.Clone(s.world.Apart)
	for _, t := range s.world.Tables {
		named = append(named, t.Name)
	}
	return slices.ContainsFunc(named, func(text string) bool {
		name, err := catalog.Parse(text)
		return err == nil && strings.EqualFold(name.Name, base)
	})
}
