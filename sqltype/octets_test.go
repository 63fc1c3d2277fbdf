package sqltype_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/gob"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/sqltype"
)

// octetKey is a type of keys of 16 bytes.
type octetKey interface {
	~[16]byte
	String() string
}

var (
	aUUID, _ = sqltype.ParseUUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f") // RFC 9562, A.6
	aULID, _ = sqltype.ParseULID("01ARZ3NDEKTSV4RRFFQ69G5FAV")           // github.com/ulid/spec
)

func TestOctetTexts(t *testing.T) {
	if id := uuid.UUID(aUUID); id.String() != "017f22e2-79b0-7cc3-98c4-dc0c0c07398f" || sqltype.UUID(id) != aUUID {
		t.Errorf("converted: got %s", id)
	}
	if got, want := aUUID.Time(), time.UnixMilli(0x017f22e279b0).UTC(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	key, err := sqltype.ParseUUIDKey[user](aUUID.String())
	if err != nil || sqltype.UUID(key) != aUUID || key.Time() != aUUID.Time() {
		t.Errorf("UUIDKey: got %s of %s, %v", key, key.Time(), err)
	}
	if got := (sqltype.UUID{6: 0x40}).Time(); !got.IsZero() {
		t.Errorf("version 4: got the time %s", got)
	}
	if got, want := aULID.Time(), time.UnixMilli(1469922850259).UTC(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	texts(t, sqltype.ParseUUID, []string{"00000000-0000-0000-0000-000000000000", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "ffffffff-ffff-ffff-ffff-ffffffffffff"}, []string{
		"", "017f22e279b07cc398c4dc0c0c07398f", "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}", "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
		"017f22e2079b0-7cc3-98c4-dc0c0c07398f", " 17f22e2-79b0-7cc3-98c4-dc0c0c07398f", strings.Repeat("0", 1000),
	})
	texts(t, sqltype.ParseULID, []string{"00000000000000000000000000", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}, []string{
		"", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVV", "01ARZ3NDEKTSV4RRFFQ69G5FAU", "01ARZ3NDEKTSV4RRFFQ69G5FAé", "01ARZ3NDEKTSV4RRFFQ69G5F-V", strings.Repeat("0", 1000),
	})
	if _, err := sqltype.ParseULID("80000000000000000000000000"); !errors.Is(err, sqltype.ErrRange) {
		t.Errorf("got %v, want %v", err, sqltype.ErrRange)
	}
}

func texts[K octetKey](t *testing.T, parse func(string) (K, error), fine, wrong []string) {
	t.Helper()
	for _, text := range fine {
		for _, written := range []string{strings.ToLower(text), strings.ToUpper(text)} {
			if id, err := parse(written); err != nil || id.String() != text {
				t.Errorf("%s: got %s, %v", written, id, err)
			}
		}
	}
	for _, text := range wrong {
		if id, err := parse(text); !errors.Is(err, sqltype.ErrSyntax) || len(err.Error()) > 200 {
			t.Errorf("%q: got %s, %v", text, id, err)
		}
	}
}

func FuzzOctetTexts(f *testing.F) {
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	f.Add("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := sqltype.ParseUUID(text); err == nil && !strings.EqualFold(id.String(), text) {
			t.Errorf("%q: got the UUID %s", text, id)
		}
		if id, err := sqltype.ParseULID(text); err == nil && !strings.EqualFold(id.String(), text) {
			t.Errorf("%q: got the ULID %s", text, id)
		}
	})
}

// The least key of a millisecond is above all keys of the ones before it.
func TestLeastOctets(t *testing.T) {
	when := time.UnixMilli(0x017f22e279b0)
	uuids := []sqltype.UUID{sqltype.MinUUID(time.Time{}), sqltype.MinUUID(when), aUUID, sqltype.MinUUID(when.Add(time.Millisecond)), sqltype.MinUUID(time.UnixMilli(math.MaxInt64 / 2))}
	if !slices.IsSortedFunc(uuids, func(a, b sqltype.UUID) int { return bytes.Compare(a[:], b[:]) }) || uuids[1].Time() != when.UTC() || uuid.UUID(uuids[1]).Version() != 7 ||
		uuid.UUID(uuids[1]).Variant() != uuid.RFC4122 {
		t.Errorf("got %s", uuids)
	}
	when = time.UnixMilli(1469922850259)
	ulids := []sqltype.ULID{sqltype.MinULID(time.Time{}), sqltype.MinULID(when), aULID, sqltype.MinULID(when.Add(time.Millisecond)), sqltype.MinULID(time.UnixMilli(math.MaxInt64 / 2))}
	if !slices.IsSortedFunc(ulids, func(a, b sqltype.ULID) int { return bytes.Compare(a[:], b[:]) }) || ulids[0] != (sqltype.ULID{}) || ulids[1].Time() != when.UTC() {
		t.Errorf("got %s", ulids)
	}
}

func TestOctetFormats(t *testing.T) {
	t.Run("UUID", func(t *testing.T) { octetFormats(t, aUUID, new(sqltype.UUID)) })
	t.Run("ULID", func(t *testing.T) { octetFormats(t, aULID, new(sqltype.ULID)) })
	t.Run("UUIDKey", func(t *testing.T) { octetFormats(t, sqltype.UUIDKey[user](aUUID), new(sqltype.UUIDKey[user])) })
}

func octetFormats[K octetKey, P interface {
	*K
	sql.Scanner
	Set(string) error
	UnmarshalGQL(any) error
}](t *testing.T, key K, to P) {
	type object struct {
		ID      K
		Ref     *K
		By      map[K]int
		Missing *K
	}
	one := object{ID: key, Ref: &key, By: map[K]int{key: 1}}
	text, err := json.Marshal(one)
	check(t, err)
	if want := strings.ReplaceAll(`{"ID":"?","Ref":"?","By":{"?":1},"Missing":null}`, "?", key.String()); string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var read object
	check(t, json.Unmarshal(text, &read))
	if read.ID != key || *read.Ref != key || read.By[key] != 1 || read.Missing != nil {
		t.Errorf("got %v from JSON", read)
	}
	if err := json.Unmarshal([]byte(`{"ID":12}`), &read); err == nil || read.ID != key {
		t.Errorf("a number: got %s, %v", read.ID, err)
	}
	var stream bytes.Buffer
	check(t, gob.NewEncoder(&stream).Encode(one))
	read = object{}
	if check(t, gob.NewDecoder(&stream).Decode(&read)); read.ID != key || *read.Ref != key {
		t.Errorf("got %v from gob", read)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&stream, nil), slog.NewJSONHandler(&stream, nil)} {
		stream.Reset()
		slog.New(handler).Info("made", "id", key)
		if !strings.Contains(stream.String(), key.String()) {
			t.Errorf("got the log %s", stream.String())
		}
	}
	for _, src := range []any{key.String(), []byte(key.String()), bytes.Clone(key[:]), [16]byte(key)} {
		*to = K{}
		if err := to.Scan(src); err != nil || *to != key {
			t.Errorf("Scan(%T %v): got %s, %v", src, src, *to, err)
		}
	}
	for src, want := range map[any]error{nil: sqltype.ErrNull, 12: sqltype.ErrSyntax, "x": sqltype.ErrSyntax} {
		if err := to.Scan(src); !errors.Is(err, want) || *to != key {
			t.Errorf("Scan(%v): got %s, %v, want %v", src, *to, err, want)
		}
		if err := to.UnmarshalGQL(src); !errors.Is(err, want) || *to != key {
			t.Errorf("UnmarshalGQL(%v): got %s, %v, want %v", src, *to, err, want)
		}
	}
	if err := to.Scan([]byte(nil)); !errors.Is(err, sqltype.ErrNull) {
		t.Errorf("got %v, want %v", err, sqltype.ErrNull)
	}
	*to = K{}
	if err := to.UnmarshalGQL(key.String()); err != nil || *to != key {
		t.Errorf("got %s, %v", *to, err)
	}
	*to = K{}
	if err := to.Set(key.String()); err != nil || *to != key {
		t.Errorf("got %s, %v", *to, err)
	}
}

// owner and part are a model with a key of 16 bytes and one that belongs to it.
type owner[K any] struct {
	ID    K
	Ref   sql.Null[K]
	Other *K
	Name  string
	Parts []part[K] `gorm:"foreignKey:OwnerID"`
}

type part[K any] struct {
	ID      K
	OwnerID K
	Owner   *owner[K]
}

func (owner[K]) TableName() string { return "owners" }
func (part[K]) TableName() string  { return "parts" }

// statements is a logger that keeps the SQL.
type statements struct {
	logger.Interface
	of []string
}

func (s *statements) LogMode(logger.LogLevel) logger.Interface { return s }

func (s *statements) Trace(_ context.Context, _ time.Time, sql func() (string, int64), _ error) {
	text, _ := sql()
	s.of = append(s.of, text)
}

func TestOctetGORM(t *testing.T) {
	t.Run("UUID", func(t *testing.T) { octetGORM(t, last[sqltype.UUID](aUUID)) })
	t.Run("ULID", func(t *testing.T) { octetGORM(t, last[sqltype.ULID](aULID)) })
	t.Run("UUIDKey", func(t *testing.T) { octetGORM(t, last[sqltype.UUIDKey[user]](aUUID)) })
	t.Run("PublicUUID", func(t *testing.T) { octetGORM(t, last[sqltype.PublicUUID[order]](aUUID)) }) // which needs no secret
}

// last returns what makes keys that differ in the last byte.
func last[K octetKey](of [16]byte) func(byte) K {
	return func(n byte) K { of[15] = n; return of }
}

func octetGORM[K octetKey](t *testing.T, id func(byte) K) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.AutoMigrate(new(owner[K]), new(part[K])))
		var log statements
		check(t, db.Session(&gorm.Session{Logger: &log}).AutoMigrate(new(owner[K]), new(part[K])))
		for _, sql := range log.of {
			if !strings.HasPrefix(strings.ToUpper(sql), "SELECT") {
				t.Errorf("AutoMigrate of tables as they are: got %s", sql)
			}
		}
		if err := db.Omit("ID").Create(&owner[K]{Name: "none"}).Error; err == nil {
			t.Error("a row without a key was created")
		}
		if err := db.Create(&owner[K]{Name: "none"}).Error; !errors.Is(err, sqltype.ErrNoKey) {
			t.Errorf("got %v, want %v", err, sqltype.ErrNoKey)
		}
		one := id(1)
		check(t, db.Create([]owner[K]{
			{ID: one, Ref: sql.Null[K]{V: id(9), Valid: true}, Other: &one, Name: "a", Parts: []part[K]{{ID: id(11)}, {ID: id(12)}}}, {ID: id(2), Name: "b"},
		}).Error)
		check(t, db.Model(new(owner[K])).Create(map[string]any{"id": id(3), "ref": sql.Null[K]{}, "other": (*K)(nil), "name": "c"}).Error)
		for name, c := range map[string]struct {
			find *gorm.DB
			want string
		}{
			"equal":       {db.Where("id = ?", one), "a"},
			"pointer":     {db.Where("id = ?", &one), "a"},
			"column":      {db.Where(map[string]any{"id": one}), "a"},
			"struct":      {db.Where(owner[K]{ID: one}), "a"},
			"in":          {db.Where("id IN ?", []K{one, id(3)}), "ac"},
			"in column":   {db.Where(map[string]any{"id": []K{one, id(3)}}), "ac"},
			"range":       {db.Where("id > ? AND id < ?", one, id(4)), "bc"},
			"between":     {db.Where("id BETWEEN ? AND ?", one, id(2)), "ab"},
			"null":        {db.Where("ref = ?", sql.Null[K]{V: id(9), Valid: true}), "a"},
			"not":         {db.Not("id = ?", one), "bc"},
			"association": {db.Joins("JOIN parts ON parts.owner_id = owners.id AND parts.id = ?", id(11)), "a"},
		} {
			var rows []owner[K]
			check(t, c.find.Session(&gorm.Session{}).Order("owners.id").Find(&rows).Error)
			got := ""
			for _, row := range rows {
				got += row.Name
			}
			if got != c.want {
				t.Errorf("%s: got the rows %s, want %s", name, got, c.want)
			}
		}
		var found owner[K]
		check(t, db.Preload("Parts.Owner").Preload("Parts").First(&found, "id = ?", one).Error)
		if found.ID != one || found.Ref.V != id(9) || found.Other == nil || *found.Other != one || len(found.Parts) != 2 || found.Parts[1].Owner.ID != one {
			t.Errorf("got %+v", found)
		}
		var joined part[K]
		check(t, db.Joins("Owner").First(&joined, "parts.id = ?", id(12)).Error)
		if joined.Owner == nil || joined.Owner.Name != "a" {
			t.Errorf("got %+v", joined)
		}
		inline := owner[K]{}
		if err := db.First(&inline, one).Error; err != nil || inline.Name != "a" {
			t.Errorf("First by the key alone: got %+v, %v", inline, err)
		}
		check(t, db.Model(&found).Updates(map[string]any{"ref": nil, "other": id(5)}).Error)
		check(t, db.Save(&owner[K]{ID: id(2), Name: "d"}).Error)
		check(t, db.Delete(&owner[K]{ID: id(3)}).Error)
		var ids []K
		check(t, db.Model(new(owner[K])).Order("id").Pluck("id", &ids).Error)
		if !slices.Equal(ids, []K{one, id(2)}) {
			t.Errorf("got the keys %v", ids)
		}
		var plain K
		if err := db.Model(new(owner[K])).Where("id = ?", one).Select("ref").Row().Scan(&plain); !errors.Is(err, sqltype.ErrNull) {
			t.Errorf("NULL: got %v, want %v", err, sqltype.ErrNull)
		}
		if stmt := db.Session(&gorm.Session{DryRun: true}).Where("id = ?", one).Find(new(owner[K])).Statement; len(stmt.Vars) != 1 {
			t.Errorf("%s: got %d parameters, want 1", stmt.SQL.String(), len(stmt.Vars))
		}
		pool, err := db.DB()
		check(t, err)
		var other K
		mark := "?"
		if db.Name() == "postgres" {
			mark = "$1"
		}
		check(t, pool.QueryRow("SELECT other FROM owners WHERE id = "+mark, one).Scan(&other))
		if other != id(5) {
			t.Errorf("got %s without GORM, want %s", other, id(5))
		}
	})
}

// A BINARY(16) is what MySQL has, here on MariaDB. GORM's statements take it like a uuid.
func TestBinaryUUID(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("only MySQL and MariaDB have the type")
		}
		check(t, db.Exec("CREATE TABLE owners (id binary(16) PRIMARY KEY, ref binary(16), other binary(16), name text)").Error)
		second := aUUID
		second[15]++
		check(t, db.Create([]owner[sqltype.UUID]{{ID: second}, {ID: aUUID, Other: &second}}).Error)
		var found owner[sqltype.UUID]
		check(t, db.First(&found, "id = ? AND other = ?", aUUID, &second).Error)
		if found.ID != aUUID || *found.Other != second {
			t.Errorf("got %+v", found)
		}
		var ids []sqltype.UUID
		check(t, db.Model(&found).Where("id >= ?", aUUID).Order("id").Pluck("id", &ids).Error)
		if !slices.Equal(ids, []sqltype.UUID{aUUID, second}) {
			t.Errorf("got %s", ids)
		}
		check(t, db.First(new(owner[sqltype.UUID]), second).Error)
		if err := db.Create(&owner[sqltype.UUID]{ID: sqltype.UUID{1}, Ref: sql.Null[sqltype.UUID]{V: second, Valid: true}}).Error; err == nil {
			t.Error("a sql.Null: the text was cut")
		}
	})
}

// The column on each server of GORM's driver of MySQL and MariaDB.
func TestUUIDColumn(t *testing.T) {
	for version, want := range map[string]string{
		"8.0.36": "binary(16)", "9.1.0": "binary(16)", "11.4.0": "binary(16)", "": "binary(16)", "MariaDB": "binary(16)", "10.6.18-MariaDB": "binary(16)",
		"10.11.4-MariaDB": "binary(16)", "10.11.5-MariaDB": "uuid", "5.5.5-10.11.14-MariaDB-0+deb12u2": "uuid", "11.0.2-MariaDB": "binary(16)", "11.0.3-MariaDB": "uuid",
		"11.1.1-MariaDB": "binary(16)", "11.1.2-MariaDB": "uuid", "11.2.0-MariaDB": "uuid", "12.0.1-MariaDB": "uuid",
	} {
		db := &gorm.DB{Config: &gorm.Config{Dialector: mysql.Dialector{Config: &mysql.Config{ServerVersion: version}}}}
		if got := (sqltype.UUID{}).GormDBDataType(db, nil); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
	db := &gorm.DB{Config: &gorm.Config{Dialector: mysql.Dialector{}}}
	if got := (sqltype.UUID{}).GormDBDataType(db, nil); got != "binary(16)" {
		t.Errorf("without a configuration: got %s", got)
	}
}
