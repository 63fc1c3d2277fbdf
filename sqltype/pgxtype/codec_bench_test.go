package pgxtype_test

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/sqltype"
)

// The floor is what pgx does with an int64 itself; path=Valuer and path=Scanner are a key without Register.
var paths = []struct {
	name string
	m    *pgtype.Map
}{{"native", registered()}, {"Valuer", pgtype.NewMap()}}

func BenchmarkEncode(b *testing.B) {
	run := func(name string, m *pgtype.Map, value any) {
		for format, code := range formats {
			b.Run(name+"/format="+format, func(b *testing.B) {
				buf := make([]byte, 0, 64)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Encode(pgtype.Int8OID, code, value, buf); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	run("type=int64/path=floor", pgtype.NewMap(), int64(big))
	for _, path := range paths {
		run("type=ID/path="+path.name, path.m, sqltype.ID(big))
		run("type=Key/path="+path.name, path.m, keyID(big))
		run("type=Null/path="+path.name, path.m, sql.Null[sqltype.ID]{V: big, Valid: true})
	}
}

func BenchmarkScan(b *testing.B) {
	run := func(name string, m *pgtype.Map, target any) {
		for format, code := range formats {
			b.Run(name+"/format="+format, func(b *testing.B) {
				wire, plan := encoded(code, big), m.PlanScan(pgtype.Int8OID, code, target) // once for all rows, as pgx does
				b.ReportAllocs()
				for b.Loop() {
					if err := plan.Scan(wire, target); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	run("type=int64/path=floor", pgtype.NewMap(), new(int64))
	for _, path := range paths {
		name := path.name
		if name == "Valuer" {
			name = "Scanner"
		}
		run("type=ID/path="+name, path.m, new(sqltype.ID))
		run("type=Key/path="+name, path.m, new(keyID))
		run("type=Null/path="+name, path.m, new(sql.Null[sqltype.ID]))
	}
}

func BenchmarkEncodeArray(b *testing.B) {
	numbers, keys := make([]int64, 1000), slicesOf(1000)
	for i := range numbers {
		numbers[i] = big + int64(i)
	}
	for _, bench := range []struct {
		name  string
		m     *pgtype.Map
		value any
	}{{"type=int64/path=floor", pgtype.NewMap(), numbers}, {"type=Key/path=native", registered(), keys}, {"type=Key/path=Valuer", pgtype.NewMap(), keys}} {
		b.Run(bench.name+"/n=1000", func(b *testing.B) {
			buf := make([]byte, 0, 1<<15)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bench.m.Encode(pgtype.Int8ArrayOID, pgtype.BinaryFormatCode, bench.value, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
