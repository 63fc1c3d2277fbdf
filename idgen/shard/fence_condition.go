package shard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// condition returns the condition of a fence that is valid.
func (f Fence) condition(d Dialect, row string) string {
	key := row + quotePart(d, f.Key)
	if d == Postgres {
		key += "::bigint"
	}
	low := int64(0)
	if legacy, ok := f.Map.Legacy(); ok {
		low = max(low, legacy.Below)
	}
	shift, mask := shardField(f.Map.Layout())
	if len(f.Buckets) == 0 {
		return "1 = 0"
	}
	residues, modulus := residuesOf(f.Buckets, mask+1)
	bucket := key
	if shift > 0 {
		bucket = fmt.Sprintf("(%s >> %d)", key, shift)
	}
	if modulus == 1 { // all of them
		return fmt.Sprintf("(%s >= %d)", key, low)
	}
	bucket = fmt.Sprintf("(%s & %d)", bucket, modulus-1)
	var singles, terms []string
	for i := 0; i < len(residues); {
		last := i
		for last+1 < len(residues) && residues[last+1] == residues[last]+1 {
			last++
		}
		if last-i >= 2 {
			terms = append(terms, fmt.Sprintf("%s BETWEEN %d AND %d", bucket, residues[i], residues[last]))
		} else {
			for _, r := range residues[i : last+1] {
				singles = append(singles, strconv.FormatInt(r, 10))
			}
		}
		i = last + 1
	}
	if len(singles) > 0 {
		terms = append(terms, fmt.Sprintf("%s IN (%s)", bucket, strings.Join(singles, ", ")))
	}
	return fmt.Sprintf("(%s >= %d AND (%s))", key, low, strings.Join(terms, " OR "))
}

// residuesOf returns the shortest way to say that a bucket is one of some: its residues modulo a power of two. Those that leave a shard of N for one of
// 2N have one residue.
func residuesOf(buckets []int64, all int64) (residues []int64, modulus int64) {
	residues = slices.Compact(slices.Sorted(slices.Values(buckets)))
	for modulus = all; modulus > 1; modulus /= 2 {
		half := modulus / 2
		at, _ := slices.BinarySearch(residues, half)
		if at*2 != len(residues) {
			break
		}
		for i := range residues[:at] {
			if residues[at+i] != residues[i]+half {
				return residues, modulus
			}
		}
		residues = residues[:at]
	}
	return residues, modulus
}

// shardField returns where the bucket is in an id.
func shardField(l idgen.Layout) (shift int, mask int64) {
	fields := l.Fields()
	for i := len(fields) - 1; i >= 0 && fields[i].Kind != idgen.Shard; i-- {
		shift += fields[i].Bits
	}
	return shift, l.Max(idgen.Shard)
}
