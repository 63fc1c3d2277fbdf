package strategy

import (
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/uid"
)

// objectIDs are the strategies of MongoDB's keys of 12 bytes, as they were published first and as they are specified today:
//
//	 0           4          7    9         12             0           4              9         12
//	+-----------+----------+----+----------+             +-----------+--------------+----------+
//	|  seconds  | machine  |pid | counter  |             |  seconds  |    random    | counter  |
//	+-----------+----------+----+----------+             +-----------+--------------+----------+
func objectIDs() []Strategy {
	published := Info{
		Name: "objectid-published",
		About: "96-bit keys of 32 bits of seconds, 24 of a hash of the host's name, the low 16 of the process's number, and a counter of 24 that starts at " +
			"random. Stored binary.",
		Origin: "MongoDB's ObjectId as its manual had it up to version 3.2",
		Needs:  "a host name of its own for each machine, and a clock that is about right",
		Cost: "12 bytes where a number has 8, " + everyIndex + ". Containers, whose processes all have the number 1, are told apart by the hash of the host's " +
			"name, and two with the same hash (an even chance among 4,800 hosts) by the random start of their counters alone",
		Coordination: "host names that differ, and process numbers that differ in their low 16 bits",
		Decodes:      "when it was made, to the second, and by which machine and process",
		Guess:        "the neighbours, by the counter; who knows two keys of a process, how many it made in between",
		Order:        Ticks,
		Limit:        1 << 24,
		Unit:         time.Second,
		Clock:        true,
	}
	today := published
	today.Name = "objectid"
	today.About = "96-bit keys of 32 bits of seconds, 40 that are random and the same for a process, and a counter of 24 that starts at random. Stored binary."
	today.Origin = "MongoDB's ObjectID specification, 2018"
	today.Needs = "a source of good random numbers, and a clock that is about right"
	today.Cost = "12 bytes where a number has 8, " + everyIndex
	today.Coordination = "none"
	today.Decodes = "when it was made, to the second, and which keys are of one process"
	own := func(o [12]byte) ObjectID { return o }
	return []Strategy{
		sourced[[12]byte, ObjectID]{published, openPublished, columnOf(own)},
		sourced[[12]byte, ObjectID]{today, openObjectID, columnOf(own)},
	}
}

// openPublished has processes of a machine differ by their numbers, those that are simulated too.
func openPublished(_ context.Context, at Environment) (idgen.Source[[12]byte], error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, lacks("it needs the host's name: %w", err)
	}
	return uid.PublishedObjectID(host, os.Getpid()+at.Process, uid.WithClock(at.Clock)), nil
}

func openObjectID(_ context.Context, at Environment) (idgen.Source[[12]byte], error) {
	return uid.ObjectID(uid.WithClock(at.Clock)), nil
}

// ObjectID is a key of 12 bytes as a key column: bytea on PostgreSQL, binary(12) on MySQL and MariaDB, a blob on SQLite.
type ObjectID [12]byte

// Value gives the database driver the 12 bytes.
func (o ObjectID) Value() (driver.Value, error) { return o[:], nil }

// Scan takes the 12 bytes.
func (o *ObjectID) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b) != len(o) {
		return fmt.Errorf("compare: %T %v is no key of 12 bytes", src, src)
	}
	*o = ObjectID(b)
	return nil
}

// GormDBDataType gives the column's type.
func (ObjectID) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	return columnType(db, "bytea", "binary(12)", "blob")
}
