package publicid

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// ff1 is the format-preserving encryption FF1 of NIST SP 800-38G of numbers with two halves of so many values each: a Feistel network of ten rounds of AES.
// It has no tweak: each prefix has a key of its own. Safe for concurrent use.
type ff1 struct {
	block cipher.Block
	first [aes.BlockSize]byte // the first block of each round's CBC-MAC, encrypted
	half  uint64              // values of a half, at most 2^32
	bytes int                 // of a half as a number
}

const rounds = 10

// newFF1 returns one for numbers of an even number of digits of a radix, whose half is at most 2^32.
func newFF1(key []byte, radix uint32, digits int) (*ff1, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("publicid: %w", err)
	}
	f := &ff1{block: block, half: 1}
	for range digits / 2 {
		f.half *= uint64(radix)
	}
	f.bytes = (bits.Len64(f.half-1) + 7) / 8
	f.first = [aes.BlockSize]byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), rounds, byte(digits / 2)}
	binary.BigEndian.PutUint32(f.first[8:], uint32(digits))
	block.Encrypt(f.first[:], f.first[:])
	return f, nil
}

// round is the number that is added to a half in a round, by the other half. The buffer is the caller's, so that rounds allocate nothing.
func (f *ff1) round(b *[aes.BlockSize]byte, i byte, other uint64) uint64 {
	*b = f.first
	for j := range f.bytes {
		b[aes.BlockSize-1-j] ^= byte(other >> (8 * j))
	}
	b[aes.BlockSize-1-f.bytes] ^= i
	f.block.Encrypt(b[:], b[:])
	// The standard takes 4*ceil(bytes/4)+4 bytes as one number: 8, as a half has 4 at most.
	return binary.BigEndian.Uint64(b[:]) % f.half
}

func (f *ff1) encrypt(a, b uint64) (uint64, uint64) {
	buffer := new([aes.BlockSize]byte)
	for i := range byte(rounds) {
		a, b = b, (a+f.round(buffer, i, b))%f.half
	}
	return a, b
}

func (f *ff1) decrypt(a, b uint64) (uint64, uint64) {
	buffer := new([aes.BlockSize]byte)
	for i := byte(rounds); i > 0; i-- {
		a, b = (b+f.half-f.round(buffer, i-1, a))%f.half, a
	}
	return a, b
}
