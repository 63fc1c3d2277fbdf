package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/uid"
)

// kindSnowflake is the kind of keys that is the default.
const kindSnowflake = "snowflake"

// widePrinters print so many new keys of the kinds that are no snowflakes.
var widePrinters = map[string]func(*cobra.Command, int64) error{
	"uuidv4":   func(c *cobra.Command, n int64) error { return printNext(c, uid.V4(), n, n, appendUUID) },
	"uuidv7":   func(c *cobra.Command, n int64) error { return printNext(c, uid.V7(), n, n, appendUUID) },
	"ulid":     func(c *cobra.Command, n int64) error { return printNext(c, uid.ULID(), n, n, appendULID) },
	"objectid": func(c *cobra.Command, n int64) error { return printNext(c, uid.ObjectID(), n, n, appendObjectID) },
	"objectid-published": func(c *cobra.Command, n int64) error {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		return printNext(c, uid.PublishedObjectID(host, os.Getpid()), n, n, appendObjectID)
	},
	"nanoid": func(c *cobra.Command, n int64) error {
		source, err := uid.NanoID(uid.NanoIDAlphabet, 21)
		if err != nil {
			return err
		}
		return printNext(c, source, n, n, func(b []byte, key string) ([]byte, error) { return append(b, key...), nil })
	},
}

func appendUUID(b []byte, key [16]byte) ([]byte, error) { return sqltype.UUID(key).AppendText(b) }

func appendULID(b []byte, key [16]byte) ([]byte, error) { return sqltype.ULID(key).AppendText(b) }

func appendObjectID(b []byte, key [12]byte) ([]byte, error) {
	return hex.AppendEncode(b, key[:]), nil
}

// kindFlag adds --kind with completion to a command.
func kindFlag(c *cobra.Command) *string {
	choice := kindChoice(kindSnowflake)
	c.Flags().Var(&choice, "kind", "what keys are: "+strings.Join(kinds(), ", ")+", or "+kindPublic+"PREFIX for public ids")
	complete(c, "kind", append(kinds(), kindPublic)...)
	return (*string)(&choice)
}

// kinds are the names, the default first.
func kinds() []string {
	return append([]string{kindSnowflake}, slices.Sorted(maps.Keys(widePrinters))...)
}

// kindChoice is the kind of keys of a flag.
type kindChoice string

// String returns the name.
func (k *kindChoice) String() string { return string(*k) }

// Type is the flag's kind of value in the help.
func (k *kindChoice) Type() string { return "kind" }

// Set reads a name.
func (k *kindChoice) Set(text string) error {
	if text != kindSnowflake && widePrinters[text] == nil && !strings.HasPrefix(text, kindPublic) {
		return fmt.Errorf("there is no kind %q; there are %s, and %sPREFIX", text, strings.Join(kinds(), ", "), kindPublic)
	}
	*k = kindChoice(text)
	return nil
}

// wideKey is what a key that is no snowflake carries.
type wideKey struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	UUID    string   `json:"uuid,omitempty"`  // that a text with a prefix stands for
	Holds   string   `json:"holds,omitempty"` // one of uuidKinds, or no-uuid: a ULID, or what wrong keys make of a public id
	Time    *keyTime `json:"time,omitempty"`
	Process string   `json:"process,omitempty"` // of an ObjectID: random, or as published the hash of the host and the process
	Counter *uint32  `json:"counter,omitempty"`
}

// keyTime is a time that keys of 16 bytes may have after the year 9999, of which time.Time makes no JSON.
type keyTime struct{ time.Time }

func (t keyTime) MarshalJSON() ([]byte, error) {
	return t.AppendFormat(nil, `"`+time.RFC3339Nano+`"`), nil
}

// recognize returns a key that is no snowflake by its text, in which no two kinds are alike: 36 characters are a UUID, 26 a ULID, 24 hexadecimal digits an
// ObjectID, and none a decimal number of 64 bits.
func recognize(text string) (wideKey, bool) {
	if id, err := sqltype.ParseUUID(text); err == nil {
		return recognizeUUID(id), true
	}
	if id, err := sqltype.ParseULID(text); err == nil {
		return wideKey{ID: id.String(), Kind: "ulid", Time: &keyTime{id.Time()}}, true
	}
	if id, err := hex.DecodeString(text); err == nil && len(id) == 12 {
		made, counter := keyTime{time.Unix(int64(binary.BigEndian.Uint32(id)), 0).UTC()}, binary.BigEndian.Uint32(id[8:])&0xffffff
		return wideKey{ID: hex.EncodeToString(id), Kind: "objectid", Time: &made, Process: hex.EncodeToString(id[4:9]), Counter: &counter}, true
	}
	return wideKey{}, false
}

// uuidKinds are the kinds of UUIDs that RFC 9562 has.
var uuidKinds = []string{"uuidv1", "uuidv2", "uuidv3", "uuidv4", "uuidv5", "uuidv6", "uuidv7", "uuidv8"}

// gregorian is how many ticks of 100 ns lie between 1582-10-15, where versions 1 and 6 count from, and 1970.
const gregorian = 0x01b21dd213814000

// recognizeUUID reads the times itself: github.com/google/uuid v1.6.0 reads that of RFC 9562's version 6 vector as the year 8612.
func recognizeUUID(id sqltype.UUID) wideKey {
	key := wideKey{ID: id.String(), Kind: "uuid"}
	if id[8]>>6 != 2 { // another variant than RFC 9562's
		return key
	}
	version, made := id[6]>>4, id.Time()
	key.Kind = fmt.Sprintf("uuidv%d", version)
	high, middle, low := uint64(binary.BigEndian.Uint32(id[:])), uint64(binary.BigEndian.Uint16(id[4:])), uint64(binary.BigEndian.Uint16(id[6:])&0xfff)
	switch version {
	case 1:
		made = gregorianTime(low<<48 | middle<<32 | high)
	case 6:
		made = gregorianTime(high<<28 | middle<<12 | low)
	case 7:
	default:
		return key
	}
	key.Time = &keyTime{made}
	return key
}

func gregorianTime(ticks uint64) time.Time {
	since := int64(ticks&math.MaxInt64) - gregorian
	return time.Unix(since/1e7, since%1e7*100).UTC()
}

// line is how decode shows the key.
func (k wideKey) line() string {
	line := k.ID + "  "
	if k.Time != nil {
		line += formatTime(k.Time.Time, time.Millisecond) + " "
	}
	line += " kind=" + k.Kind
	if k.UUID != "" {
		line += " uuid=" + k.UUID + " holds=" + k.Holds
	}
	if k.Counter != nil {
		line += fmt.Sprintf(" process=%s counter=%d", k.Process, *k.Counter)
	}
	return line + "\n"
}
