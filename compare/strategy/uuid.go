package strategy

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/uid"
)

// uuids are the strategies of UUIDs, binary and then as text.
func uuids() []Strategy {
	versions := []uuidVersion{uuidV1(), uuidV4(), uuidV7()}
	var all []Strategy
	for _, v := range versions {
		info := v.info
		info.About += " Stored as its 16 bytes: uuid on PostgreSQL, binary(16) on MySQL and MariaDB, a blob on SQLite."
		all = append(all, sourced[[16]byte, UUID]{info, v.open, columnOf(func(u [16]byte) UUID { return u })})
	}
	for _, v := range versions {
		info := v.info
		info.Name += "-text"
		info.About += " Stored as its usual text, in a char(36)."
		info.Cost += "; as text 36 bytes in place of 16"
		all = append(all, sourced[[16]byte, textUUID]{info, v.open, textUUIDColumn()})
	}
	return all
}

// everyIndex is where the bytes of a key count twice: InnoDB's other indexes have the primary key in each entry.
const everyIndex = "on MySQL and MariaDB in every index of the table"

// uuidVersion is a version of UUIDs, and what makes them.
type uuidVersion struct {
	info Info
	open func(context.Context, Environment) (idgen.Source[[16]byte], error)
}

func uuidV4() uuidVersion {
	return uuidVersion{
		info: Info{
			Name:         "uuidv4",
			About:        "128-bit keys, 122 of them random, made by package uid.",
			Origin:       "RFC 9562, section 5.4 (version 4, of RFC 4122 before)",
			Needs:        "a source of good random numbers",
			Cost:         "16 bytes where a number has 8, " + everyIndex + "; in no order, so that each row goes to another page of the index",
			Coordination: "none",
			Decodes:      "nothing",
			Guess:        "nothing",
			Order:        Unordered,
			Random:       122,
		},
		open: func(context.Context, Environment) (idgen.Source[[16]byte], error) { return uid.V4(), nil },
	}
}

func uuidV7() uuidVersion {
	return uuidVersion{
		info: Info{
			Name: "uuidv7",
			About: "128-bit keys, milliseconds, then 12 bits of a millisecond's part and 4 of a count, then 58 random bits, made by package uid: of one " +
				"process each is greater than the one before, since the count goes on where the clock stands still or steps back.",
			Origin:       "RFC 9562, section 5.7 (version 7), with method 3 of section 6.2",
			Needs:        "a clock that is about right, and a source of good random numbers",
			Cost:         "16 bytes where a number has 8, " + everyIndex,
			Coordination: "none",
			Decodes:      "when it was made, to the millisecond and a part of it",
			Guess:        "when others were made; 58 bits of each are not to be guessed",
			Order:        Increasing,
			Unit:         time.Millisecond,
			Random:       58,
			Clock:        true,
		},
		open: func(_ context.Context, at Environment) (idgen.Source[[16]byte], error) {
			return uid.V7(uid.WithClock(at.Clock)), nil
		},
	}
}

// UUID is a UUID as a key column: uuid on PostgreSQL, binary(16) on MySQL and MariaDB, a blob on SQLite.
type UUID [16]byte

// Value gives the database driver the 16 bytes.
func (u UUID) Value() (driver.Value, error) { return u[:], nil }

// Scan takes the 16 bytes, or the text form that PostgreSQL's driver gives.
func (u *UUID) Scan(src any) error {
	var parsed uuid.UUID
	if err := parsed.Scan(src); err != nil || src == nil {
		return fmt.Errorf("compare: %T %v is no UUID", src, src)
	}
	*u = UUID(parsed)
	return nil
}

// GormDBDataType gives the column's type.
func (UUID) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	return columnType(db, "uuid", "binary(16)", "blob")
}

// textUUID is a UUID as a key column of text. Its digits a-f are small, so that it sorts as its bytes do in every collation.
type textUUID string

// GormDBDataType gives the column's type.
func (textUUID) GormDBDataType(*gorm.DB, *schema.Field) string { return "char(36)" }

// textUUIDColumn has UUIDs as text.
func textUUIDColumn() column[[16]byte, textUUID] {
	return column[[16]byte, textUUID]{
		set: func(u [16]byte) textUUID { return textUUID(uuid.UUID(u).String()) },
		key: func(id textUUID) (Key, error) {
			u, err := uuid.Parse(string(id))
			return Key(u[:]), err
		},
		read: func(key Key) (textUUID, error) {
			u, err := uuid.FromBytes([]byte(key))
			return textUUID(u.String()), err
		},
		text:   uuidText,
		number: noNumber,
		bytes:  36,
	}
}

// uuidText is the text of a UUID that is a key.
func uuidText(key Key) string {
	u, err := uuid.FromBytes([]byte(key))
	if err != nil {
		return hexText(key)
	}
	return u.String()
}
