package pgxtype_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/sqltype/pgxtype"
)

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

func config(t *testing.T, database dbtest.Database, mode pgx.QueryExecMode) *pgx.ConnConfig {
	t.Helper()
	c, err := pgx.ParseConfig(database.DriverDSN)
	check(t, err)
	c.DefaultQueryExecMode = mode
	return c
}

func connect(t *testing.T, database dbtest.Database, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config(t, database, mode))
	check(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// onEachMode runs a test with a connection of each query mode, whose map is registered.
func onEachMode(t *testing.T, test func(t *testing.T, conn *pgx.Conn)) {
	t.Helper()
	database := dbtest.Postgres(t)
	for _, mode := range modes {
		t.Run(strings.ReplaceAll(mode.String(), " ", "_"), func(t *testing.T) {
			conn := connect(t, database, mode)
			pgxtype.Register(conn.TypeMap())
			test(t, conn)
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestModes(t *testing.T) {
	onEachMode(t, func(t *testing.T, conn *pgx.Conn) {
		t.Run("ID", func(t *testing.T) { testMode[sqltype.ID](t, conn) })
		t.Run("Key", func(t *testing.T) { testMode[keyID](t, conn) })
		t.Run("Number", func(t *testing.T) { testMode[sqltype.Number](t, conn) })
		t.Run("PublicID", func(t *testing.T) { testMode[sqltype.PublicID[model]](t, conn) })
	})
}

func testMode[K ~int64](t *testing.T, conn *pgx.Conn) {
	for _, k := range []K{0, -1, big, math.MaxInt64, math.MinInt64} {
		back(t, conn, "bigint", k)
		back(t, conn, "bigint", &k)
		back(t, conn, "bigint", sql.Null[K]{V: k, Valid: true})
		back(t, conn, "bigint", &sql.Null[K]{V: k, Valid: true})
	}
	k := K(big)
	back(t, conn, "bigint", (*K)(nil))
	back(t, conn, "bigint", sql.Null[K]{})
	back(t, conn, "bigint[]", []K{big, -1, math.MinInt64})
	back(t, conn, "bigint[]", []K{})
	back(t, conn, "bigint[]", []K(nil))
	back(t, conn, "bigint[]", [2]K{big, -1})
	back(t, conn, "bigint[]", &[]K{big})
	back(t, conn, "bigint[]", []*K{&k, nil})
	back(t, conn, "bigint[]", []sql.Null[K]{{V: big, Valid: true}, {}})
	back(t, conn, "bigint[]", pgtype.FlatArray[K]{big, -1})
	back(t, conn, "bigint[]", pgtype.Array[K]{Elements: []K{1, big, 3, 4}, Dims: []pgtype.ArrayDimension{{Length: 2, LowerBound: 1}, {Length: 2, LowerBound: 1}}, Valid: true})
	type named []K
	back(t, conn, "bigint[]", named{big, 2})

	testNulls[K](t, conn)
	testTable[K](t, conn)
	testColumns[K](t, conn)
}

// back sends a value and reads it, as the parameter and the column of a cast.
func back[T any](t *testing.T, conn *pgx.Conn, cast string, in T) {
	t.Helper()
	var out T
	if err := conn.QueryRow(t.Context(), "SELECT $1::"+cast, in).Scan(&out); err != nil || !reflect.DeepEqual(out, in) {
		t.Errorf("%T: got %v, %v, want %v", in, out, err, in)
	}
}

func testNulls[K ~int64](t *testing.T, conn *pgx.Conn) {
	t.Helper()
	k, keys := K(7), []K{7}
	if err := conn.QueryRow(t.Context(), "SELECT NULL::bigint").Scan(&k); !errors.Is(err, sqltype.ErrNull) || k != 7 {
		t.Errorf("NULL: got %d, %v, want ErrNull", k, err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT NULL").Scan(&k); !errors.Is(err, sqltype.ErrNull) || k != 7 {
		t.Errorf("NULL of no type: got %d, %v, want ErrNull", k, err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT '{1,NULL}'::bigint[]").Scan(&keys); !errors.Is(err, sqltype.ErrNull) {
		t.Errorf("NULL in an array: got %d, %v, want ErrNull", keys, err)
	}
}

// record is what pgx makes of a row by the names of its columns.
type record[K ~int64] struct {
	ID      K
	Ref     sql.Null[K]
	Other   *K
	Friends []K
}

// Parameters and columns of a table, ANY, and COPY, which is always binary.
func testTable[K ~int64](t *testing.T, conn *pgx.Conn) {
	t.Helper()
	_, err := conn.Exec(t.Context(), "CREATE TEMPORARY TABLE t (id bigint PRIMARY KEY, ref bigint, other bigint, friends bigint[])")
	check(t, err)
	defer func() {
		_, err := conn.Exec(t.Context(), "DROP TABLE t")
		check(t, err)
	}()
	k := K(big)
	want := []record[K]{
		{ID: -1, Ref: sql.Null[K]{V: big, Valid: true}, Other: &k, Friends: []K{}},
		{ID: 1, Friends: nil},
		{ID: big, Ref: sql.Null[K]{V: -2, Valid: true}, Friends: []K{big, 3}},
		{ID: big + 1, Other: &k, Friends: []K{1}},
	}
	for _, r := range want[:2] {
		_, err := conn.Exec(t.Context(), "INSERT INTO t (id, ref, other, friends) VALUES ($1, $2, $3, $4)", r.ID, r.Ref, r.Other, r.Friends)
		check(t, err)
	}
	rows := [][]any{{want[2].ID, want[2].Ref, want[2].Other, want[2].Friends}, {&want[3].ID, nil, want[3].Other, want[3].Friends}}
	if n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"id", "ref", "other", "friends"}, pgx.CopyFromRows(rows)); err != nil || n != 2 {
		t.Errorf("COPY: got %d rows, %v", n, err)
	}
	for _, argument := range []any{[]K{-1, 1, big, big + 1}, &[]K{-1, 1, big, big + 1}, [4]K{-1, 1, big, big + 1}, []*K{&want[0].ID, &want[1].ID, &k, &want[3].ID, nil}} {
		found, err := conn.Query(t.Context(), "SELECT * FROM t WHERE id = ANY($1) ORDER BY id", argument)
		check(t, err)
		got, err := pgx.CollectRows(found, pgx.RowToStructByName[record[K]])
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ANY of %T: got %+v, %v, want %+v", argument, got, err, want)
		}
	}
	found, err := conn.Query(t.Context(), "SELECT id FROM t WHERE NOT id = ANY($1) ORDER BY id", []K{big})
	check(t, err)
	if got, err := pgx.CollectRows(found, pgx.RowTo[K]); err != nil || !slices.Equal(got, []K{-1, 1, big + 1}) {
		t.Errorf("not ANY: got %d, %v", got, err)
	}
	batch := new(pgx.Batch)
	batch.Queue("SELECT $1::bigint", k)
	batch.Queue("SELECT id FROM t WHERE id = ANY($1)", []K{1})
	results := conn.SendBatch(t.Context(), batch)
	var one, two K
	if err := errors.Join(results.QueryRow().Scan(&one), results.QueryRow().Scan(&two), results.Close()); err != nil || one != big || two != 1 {
		t.Errorf("batch: got %d, %d, %v", one, two, err)
	}
}

// Columns of other types give and take the same number, or an error.
func testColumns[K ~int64](t *testing.T, conn *pgx.Conn) {
	t.Helper()
	_, err := conn.Exec(t.Context(), "CREATE TEMPORARY TABLE c (small smallint, int integer, ints integer[], text text, varchar varchar(20), char char(30), chars char(30)[], varchars varchar(20)[], texts text[], num numeric, nums numeric[])")
	check(t, err)
	defer func() {
		_, err := conn.Exec(t.Context(), "DROP TABLE c")
		check(t, err)
	}()
	for column, tt := range map[string]struct{ good, tooGreat []any }{
		"small":    {[]any{K(math.MaxInt16), sql.Null[K]{V: -7, Valid: true}}, []any{K(math.MaxInt16 + 1), sql.Null[K]{V: -big, Valid: true}}},
		"int":      {[]any{K(math.MaxInt32), K(math.MinInt32), new(K)}, []any{K(math.MaxInt32 + 1), K(math.MinInt32 - 1), K(big), sql.Null[K]{V: 1 << 32, Valid: true}}},
		"ints":     {[]any{[]K{math.MaxInt32, -1}, []sql.Null[K]{{V: 1, Valid: true}}}, []any{[]K{1, math.MaxInt32 + 1}, []sql.Null[K]{{V: 1 << 32, Valid: true}}}},
		"text":     {[]any{K(big), sql.Null[K]{V: math.MinInt64, Valid: true}}, nil},
		"varchar":  {[]any{K(math.MinInt64), sql.Null[K]{}}, nil},
		"char":     {[]any{K(math.MinInt64), K(5), sql.Null[K]{V: -big, Valid: true}, sql.Null[K]{}}, nil},
		"chars":    {[]any{[]K{big, -1}, []sql.Null[K]{{V: 5, Valid: true}, {}}}, nil},
		"varchars": {[]any{[]K{big, -1}}, nil},
		"texts":    {[]any{[]K{big, -1}}, nil},
		"num":      {[]any{K(math.MaxInt64), K(1541815603606036000), sql.Null[K]{V: -10, Valid: true}}, nil},
		"nums":     {[]any{[]K{big, 100, -10}}, nil},
	} {
		for _, in := range tt.good {
			if _, err := conn.Exec(t.Context(), "INSERT INTO c ("+column+") VALUES ($1)", in); err != nil {
				t.Errorf("%s: %v: %v", column, in, err)
				continue
			}
			out, text := reflect.New(reflect.TypeOf(in)), new(string)
			err := conn.QueryRow(t.Context(), "DELETE FROM c RETURNING "+column+", "+column+"::text").Scan(out.Interface(), &text)
			if err != nil || !reflect.DeepEqual(out.Elem().Interface(), in) {
				t.Errorf("%s: got %v, %v, want %v", column, out.Elem(), err, in)
			}
			if k, ok := in.(K); ok && *text != fmt.Sprint(int64(k)) {
				t.Errorf("%s: %d is stored as %s", column, in, *text)
			}
		}
		for _, in := range tt.tooGreat {
			if _, err := conn.Exec(t.Context(), "INSERT INTO c ("+column+") VALUES ($1)", in); err == nil {
				t.Errorf("%s: %v: got no error", column, in)
			} else if server := new(pgconn.PgError); !errors.As(err, &server) && !strings.Contains(err.Error(), "than m") || server.Code != "" && server.Code != "22003" {
				t.Errorf("%s: %v: got %v, want out of range", column, in, err)
			}
		}
	}
	for query, want := range map[string]error{
		"'5 '::text": sqltype.ErrSyntax, "'5 '::varchar": sqltype.ErrSyntax, "' 5'::char(30)": sqltype.ErrSyntax, "'x'::char(30)": sqltype.ErrSyntax, "''::char(30)": sqltype.ErrSyntax,
		"''::bpchar": sqltype.ErrSyntax, "NULL::char(30)": sqltype.ErrNull,
		"1.5::numeric": sqltype.ErrSyntax, "'x'::text": sqltype.ErrSyntax, "1.5::float8": sqltype.ErrSyntax, "true": sqltype.ErrSyntax, "now()": sqltype.ErrSyntax,
		"'NaN'::numeric": sqltype.ErrSyntax, "9223372036854775808::numeric": sqltype.ErrRange, "1e30::numeric": sqltype.ErrRange, "NULL::numeric": sqltype.ErrNull, "NULL::text": sqltype.ErrNull,
	} {
		k, null := K(7), sql.Null[K]{}
		if err := conn.QueryRow(t.Context(), "SELECT "+query).Scan(&k); !errors.Is(err, want) || k != 7 {
			t.Errorf("%s: got %d, %v, want %v", query, k, err, want)
		}
		if err := conn.QueryRow(t.Context(), "SELECT "+query).Scan(&null); (err == nil) != (want == sqltype.ErrNull) {
			t.Errorf("%s: got %v, %v", query, null, err)
		}
	}
}

type scanner int64

func (s *scanner) Scan(src any) error {
	*s = scanner(src.(int64) + 1)
	return nil
}

// All else that pgx can do with a bigint it does as before.
func TestOtherTypesAsBefore(t *testing.T) {
	database := dbtest.Postgres(t)
	n := int64(big)
	arguments := []any{
		int64(12), n, &n, (*int64)(nil), int(3), int32(-3), uint64(math.MaxUint64), uint8(8), "12", "x", []byte("12"), float64(1), float64(1.5), true, nil, mine(5), new(mine),
		sql.NullInt64{Int64: n, Valid: true}, sql.NullInt64{}, sql.Null[int64]{V: n, Valid: true}, sql.Null[int64]{}, sql.Null[mine]{V: 1, Valid: true}, sql.NullString{String: "7", Valid: true},
		pgtype.Int8{Int64: n, Valid: true}, pgtype.Int8{}, pgtype.Int4{Int32: 4, Valid: true}, pgtype.Numeric{}, struct{ ID sqltype.ID }{1},
	}
	arrays := []any{
		[]int64{1, n}, []int64(nil), []*int64{&n, nil}, []int{1}, [2]int64{1, 2}, []string{"1", "2"}, []any{int64(1), nil}, []mine{1}, []sql.NullInt64{{}}, pgtype.FlatArray[int64]{1},
		pgtype.Array[int64]{Elements: []int64{1}, Dims: []pgtype.ArrayDimension{{Length: 1, LowerBound: 5}}, Valid: true}, [][]int64{{1, 2}, {3, 4}}, "{1,2}", nil, []float64{1},
	}
	targets := []reflect.Type{
		reflect.TypeFor[int64](), reflect.TypeFor[*int64](), reflect.TypeFor[**int64](), reflect.TypeFor[int](), reflect.TypeFor[int32](), reflect.TypeFor[uint64](), reflect.TypeFor[string](),
		reflect.TypeFor[*string](), reflect.TypeFor[[]byte](), reflect.TypeFor[bool](), reflect.TypeFor[float64](), reflect.TypeFor[any](), reflect.TypeFor[sql.NullInt64](),
		reflect.TypeFor[sql.Null[int64]](), reflect.TypeFor[sql.NullString](), reflect.TypeFor[sql.NullInt32](), reflect.TypeFor[pgtype.Int8](), reflect.TypeFor[pgtype.Text](),
		reflect.TypeFor[mine](), reflect.TypeFor[scanner](), reflect.TypeFor[pgtype.Numeric](),
		reflect.TypeFor[[]int64](), reflect.TypeFor[[]*int64](), reflect.TypeFor[[]any](), reflect.TypeFor[[]string](), reflect.TypeFor[[3]int64](), reflect.TypeFor[[][]int64](),
		reflect.TypeFor[[]mine](), reflect.TypeFor[[]sql.NullInt64](), reflect.TypeFor[pgtype.Array[int64]](), reflect.TypeFor[pgtype.FlatArray[*int64]](),
	}
	for _, mode := range modes {
		t.Run(strings.ReplaceAll(mode.String(), " ", "_"), func(t *testing.T) {
			before, after := connect(t, database, mode), connect(t, database, mode)
			pgxtype.Register(after.TypeMap())
			compare := func(name, query string, args []any, target reflect.Type) {
				t.Helper()
				var got [2]string
				for i, conn := range []*pgx.Conn{before, after} {
					out := reflect.New(target)
					if target.Kind() == reflect.Pointer {
						out.Elem().Set(reflect.New(target.Elem()))
					}
					err := scan(conn.QueryRow(t.Context(), query, args...), out.Interface())
					got[i] = fmt.Sprintf("%s, %v", deep(out.Elem()), err)
				}
				if got[0] != got[1] {
					t.Errorf("%s: got %s, before Register %s", name, got[1], got[0])
				}
			}
			for _, a := range arguments {
				compare(fmt.Sprintf("%T as bigint", a), "SELECT $1::bigint", []any{a}, reflect.TypeFor[*string]())
				compare(fmt.Sprintf("%T as text", a), "SELECT $1::text", []any{a}, reflect.TypeFor[*string]())
			}
			for _, a := range arrays {
				compare(fmt.Sprintf("%T as bigint[]", a), "SELECT $1::bigint[]", []any{a}, reflect.TypeFor[[]*int64]())
			}
			for _, target := range targets {
				columns := []string{"1541815603606036481::bigint", "12::bigint", "'{1,2,3}'::bigint[]", "'{{1},{2}}'::bigint[]", "'{NULL}'::bigint[]", "1::int4", "'12'::text", "'x'::varchar"}
				for oid, column := range map[uint32]string{pgtype.Int8OID: "NULL::bigint", pgtype.Int8ArrayOID: "NULL::bigint[]", pgtype.TextOID: "NULL::text"} {
					// Where it has no plan, pgx has any type scan NULL that can, in the order of a Go map.
					m, out := before.TypeMap(), reflect.New(target).Interface()
					plans := fmt.Sprintf("%T %T", m.PlanScan(oid, pgtype.TextFormatCode, out), m.PlanScan(oid, pgtype.BinaryFormatCode, out))
					if !strings.Contains(plans, "scanPlanFail") {
						columns = append(columns, column)
					}
				}
				for _, column := range columns {
					compare(column+" into "+target.String(), "SELECT "+column, nil, target)
				}
			}
		})
	}
}

// scan turns a panic of a type that cannot scan what it is given into an error.
func scan(row pgx.Row, target any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return row.Scan(target)
}

// deep prints what pointers point to.
func deep(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return "&" + deep(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		var all []string
		for i := range v.Len() {
			all = append(all, deep(v.Index(i)))
		}
		return fmt.Sprintf("%s(%t)%s", v.Type(), v.Kind() == reflect.Slice && v.IsNil(), all)
	}
	return fmt.Sprintf("%#v", v)
}

// With database/sql pgx encodes the arguments, slices too; GORM works as without.
func TestDatabaseSQL(t *testing.T) {
	database := dbtest.Postgres(t)
	for _, mode := range modes {
		t.Run(strings.ReplaceAll(mode.String(), " ", "_"), func(t *testing.T) {
			pool := stdlib.OpenDB(*config(t, database, mode), stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
				pgxtype.Register(conn.TypeMap())
				return nil
			}))
			t.Cleanup(func() { _ = pool.Close() })
			db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
			check(t, err)

			type account struct {
				ID    keyID
				Ref   sql.Null[sqltype.ID]
				Other *sqltype.Number
			}
			check(t, db.Migrator().DropTable(new(account)))
			check(t, db.AutoMigrate(new(account)))
			number := sqltype.Number(3)
			want := []account{{ID: 1, Other: &number}, {ID: big, Ref: sql.Null[sqltype.ID]{V: 2, Valid: true}}}
			check(t, db.Create(&want).Error)
			var got []account
			if err := db.Order("id").Find(&got, []keyID{1, big, 404}).Error; err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Find: got %+v, %v, want %+v", got, err, want)
			}
			for _, argument := range []any{[]keyID{1, big}, []sqltype.ID{1, big}, []*sqltype.Number{&number, nil}} {
				rows := -1
				if err := pool.QueryRowContext(t.Context(), "SELECT count(*) FROM accounts WHERE id = ANY($1) OR other = ANY($1)", argument).Scan(&rows); err != nil || rows < 1 {
					t.Errorf("ANY of %T: got %d rows, %v", argument, rows, err)
				}
			}
		})
	}
}

// Without Register slices fail where the server is not asked; when this fails, pgx has learnt it and the page of this package is old.
func TestWithoutRegister(t *testing.T) {
	database := dbtest.Postgres(t)
	for _, mode := range modes {
		conn := connect(t, database, mode)
		var found bool
		err := conn.QueryRow(t.Context(), "SELECT 1 = ANY($1::bigint[])", []keyID{1}).Scan(&found)
		if asked := mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol; asked != (err == nil) {
			t.Errorf("%s: got %t, %v", mode, found, err)
		}
	}
}

// What the page of this package says of the modes that do not ask for a parameter's type, where keys fare as int64 does without Register.
func TestModesThatDoNotAsk(t *testing.T) {
	in, ex := pgtype.Inclusive, pgtype.Exclusive
	database := dbtest.Postgres(t)
	for _, mode := range modes {
		before, after := connect(t, database, mode), connect(t, database, mode)
		pgxtype.Register(after.TypeMap())
		asked := mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
		for name, tt := range map[string]struct {
			number, key any
			want        string
			works       bool
		}{
			"int8range": {
				pgtype.Range[int64]{Lower: 1, Upper: 5, LowerType: in, UpperType: ex, Valid: true},
				pgtype.Range[keyID]{Lower: 1, Upper: 5, LowerType: in, UpperType: ex, Valid: true}, "[1,5)", asked,
			},
			"int8multirange": {
				pgtype.Multirange[pgtype.Range[int64]]{{Lower: 1, Upper: 5, LowerType: in, UpperType: ex, Valid: true}},
				pgtype.Multirange[pgtype.Range[keyID]]{{Lower: 1, Upper: 5, LowerType: in, UpperType: ex, Valid: true}}, "{[1,5)}", asked,
			},
			"bigint[]": {[]any{int64(1), nil}, []any{keyID(1), nil}, "{1,NULL}", asked},
			"interval": {int64(3), keyID(3), "00:00:03", !asked},
		} {
			for i, conn := range []*pgx.Conn{before, after} {
				var got string
				err := conn.QueryRow(t.Context(), "SELECT ($1::"+name+")::text", []any{tt.number, tt.key}[i]).Scan(&got)
				if tt.works && (err != nil || got != tt.want) || !tt.works && err == nil {
					t.Errorf("%s: %T as %s: got %q, %v; want it to work: %t", mode, []any{tt.number, tt.key}[i], name, got, err, tt.works)
				}
			}
		}
	}
}

// A pool whose connections are registered as they come, used by many at once.
func TestPool(t *testing.T) {
	const users, rounds = 16, 25
	c, err := pgxpool.ParseConfig(dbtest.Postgres(t).DriverDSN)
	check(t, err)
	c.MaxConns = 8
	c.MaxConnLifetime = 50 * time.Millisecond // so that some are registered while others are used
	var registered atomic.Int64
	c.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		pgxtype.Register(conn.TypeMap())
		registered.Add(1)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	check(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "CREATE TABLE pooled (id bigint PRIMARY KEY, friends bigint[], char char(30))")
	check(t, err)
	errs := make(chan error, users)
	for user := range users {
		go func() {
			var err error
			for i := 0; i < rounds && err == nil; i++ {
				err = usePool(t.Context(), pool, keyID(big+user*rounds+i))
			}
			errs <- err
		}()
	}
	for range users {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var n int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pooled").Scan(&n); err != nil || n != users*rounds {
		t.Errorf("got %d rows, %v, want %d", n, err, users*rounds)
	}
	if registered.Load() < 2 {
		t.Errorf("got %d connections, want several", registered.Load())
	}
}

// usePool writes a row and reads it.
func usePool(ctx context.Context, pool *pgxpool.Pool, id keyID) error {
	if _, err := pool.Exec(ctx, "INSERT INTO pooled VALUES ($1, $2, $3)", id, []sqltype.ID{1, sqltype.ID(id)}, sqltype.Number(id)); err != nil {
		return err
	}
	var got keyID
	var friends []*keyID
	var char sql.Null[sqltype.ID]
	if err := pool.QueryRow(ctx, "SELECT * FROM pooled WHERE id = ANY($1)", []keyID{id}).Scan(&got, &friends, &char); err != nil {
		return err
	}
	if got != id || len(friends) != 2 || *friends[1] != id || char.V != sqltype.ID(id) {
		return fmt.Errorf("got %d, %v, %v, want %d", got, friends, char, id)
	}
	return nil
}
