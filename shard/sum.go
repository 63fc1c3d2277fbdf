package shard

import (
	"reflect"
)

// Mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014), as splitmix64.c of Vigna (2015) has it: the number that a generator in the state v
// gives. Neighbours become unrelated numbers, and no two numbers the same.
func Mix(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// fnv1a is the 64-bit FNV-1a hash (Fowler, Noll, Vo). It is not hash/fnv's, which allocates.
func fnv1a[T string | []byte](text T) uint64 {
	hash := uint64(fnvBasis)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * fnvPrime
	}
	return hash
}

const (
	fnvBasis = 0xcbf29ce484222325
	fnvPrime = 0x100000001b3
)

// Sum returns the 64-bit mix of a sharding key, the same for ever and on every machine. Of an integer of any width, signed or not, it is [Mix] of
// its value modulo 2^64 (two's complement, so int8(-1), int64(-1) and uint64(1<<64-1) have the same sum). Of a string, of bytes, and of an array
// of bytes such as a UUID, it is Mix of their 64-bit FNV-1a hash (Fowler, Noll, Vo), so that a text and its bytes have the same; a number and its
// text do not, nor a UUID and its text. Named types count as what they are made of, whatever their methods; pointers as what they point to; a
// [database/sql.Null] as what is in it. Any other type that is a [database/sql/driver.Valuer], such as [database/sql.NullInt64], counts as the int64,
// the string or the bytes that it gives to the database; so a UUID in a struct that gives its text has another sum than an array, and one column
// wants one type. Zero and the empty text are sharding keys here. Texts have different sums when one byte differs, even if a database's collation
// takes them for equal: "acme" and "ACME" want to be made the same before.
//
// The error wraps [ErrKey] for nil, nil bytes and NULL, and for every other kind, floating-point numbers, booleans and times among them. Sum
// allocates nothing but for a Valuer.
func Sum(key any) (uint64, error) {
	v, err := plain(key)
	if err != nil {
		return 0, err
	}
	switch kind := v.Kind(); {
	case v.CanInt():
		return Mix(uint64(v.Int())), nil
	case v.CanUint():
		return Mix(v.Uint()), nil
	case kind == reflect.String:
		return Mix(fnv1a(v.String())), nil
	case kind == reflect.Slice:
		return Mix(fnv1a(v.Bytes())), nil
	default:
		return Mix(arraySum(v)), nil
	}
}

// arraySum is fnv1a of an array, which may not have an address for a slice of it.
func arraySum(v reflect.Value) uint64 {
	hash := uint64(fnvBasis)
	for i := range v.Len() {
		hash = (hash ^ v.Index(i).Uint()) * fnvPrime
	}
	return hash
}
