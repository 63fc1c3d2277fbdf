package measure

import (
	"context"
	"math"
	"math/big"
	"slices"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

const (
	lookedAt = 101 // keys of one INSERT
	shown    = 3   // of them

	safeNumber = 1 << 53 // the first number that JavaScript does not tell from its neighbour
)

// key inserts some rows at once, and tells what their keys are like. The table is full, so that a column whose bytes grow with the keys has
// those of a full table.
func (g *growth) key(ctx context.Context) (result.Key, error) {
	before := g.rows
	_, err := g.insert(ctx, lookedAt)
	g.rows = before
	if err != nil {
		return result.Key{}, err
	}
	sample := make([]strategy.Key, lookedAt)
	for i, row := range g.last[len(g.last)-lookedAt:] {
		sample[i] = row.key
	}
	key := describe(g.info, g.keys, sample)
	key.Column, key.Bytes = g.table.Column()
	return key, nil
}

// describe says what keys are like that followed each other.
func describe(info strategy.Info, keys strategy.Keys, sample []strategy.Key) result.Key {
	key := result.Key{JSSafe: true, Gap: gap(info, keys, sample)}
	for i, k := range sample {
		text := keys.Text(k)
		key.Text = max(key.Text, len(text))
		if i < shown {
			key.Sample = append(key.Sample, text)
		}
		if number, ok := keys.Number(k); ok {
			key.Numeric = true
			key.JSSafe = key.JSSafe && -safeNumber < number && number < safeNumber
		}
	}
	return key
}

// gap is how many bits of the next key are unknown to who knows one.
func gap(info strategy.Info, keys strategy.Keys, sample []strategy.Key) result.Figure {
	if info.Order == strategy.Unordered {
		figure := result.Measured(float64(info.Random))
		figure.Note = "keys in no order: the bits that cannot be told beforehand"
		return figure
	}
	if len(sample) < 2 {
		return result.Missing("fewer than two keys were made")
	}
	distances := make([]*big.Int, len(sample)-1)
	for i := range distances {
		d := new(big.Int).Sub(asNumber(keys, sample[i+1]), asNumber(keys, sample[i]))
		distances[i] = d.Abs(d)
	}
	slices.SortFunc(distances, (*big.Int).Cmp)
	figure := result.Measured(log2(distances[len(distances)/2]))
	figure.Note = "keys of one INSERT"
	return figure
}

// asNumber returns a key as a number: its own, or all its bytes from the top.
func asNumber(keys strategy.Keys, key strategy.Key) *big.Int {
	if number, ok := keys.Number(key); ok {
		return big.NewInt(number)
	}
	return new(big.Int).SetBytes([]byte(key))
}

// log2 returns the binary logarithm of a number, 0 of those below 2: there is nothing to guess.
func log2(n *big.Int) float64 {
	if n.BitLen() < 2 {
		return 0
	}
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(n).MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log2(m) + float64(exponent)
}

// addKey replaces what is said of the keys, and adds a round's gap to those before.
func addKey(to *result.Key, key result.Key) {
	gap := to.Gap
	add(&gap, key.Gap)
	*to = key
	to.Gap = gap
}
