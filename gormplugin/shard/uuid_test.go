package shard_test

import (
	"database/sql/driver"
	"fmt"
)

// uuid is what UUIDs are in Go: bytes, with a form of their own in the database.
type uuid [16]byte

// Value is the bytes.
func (u uuid) Value() (driver.Value, error) { return u[:], nil }

// Scan takes the bytes.
func (u *uuid) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b) != len(u) {
		return fmt.Errorf("no UUID: %v", src)
	}
	copy(u[:], b)
	return nil
}
