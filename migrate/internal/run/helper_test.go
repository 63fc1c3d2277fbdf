package run_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	gomysql "github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
)

func TestBind(t *testing.T) {
	values := map[string]int64{"after": 1, "upto": 2, "rows": 3}
	for _, c := range []struct {
		text, want, postgres string
		args                 []any
	}{
		{"SELECT 1", "SELECT 1", "SELECT 1", nil},
		{"a > :after AND a <= :upto", "a > ? AND a <= ?", "a > CAST($1 AS bigint) AND a <= CAST($2 AS bigint)", []any{int64(1), int64(2)}},
		{":rows,:after,:rows", "?,?,?", "CAST($1 AS bigint),CAST($2 AS bigint),CAST($3 AS bigint)", []any{int64(3), int64(1), int64(3)}},
		{"':after' \":upto\" `:rows` 'it''s :after'", "':after' \":upto\" `:rows` 'it''s :after'", "':after' \":upto\" `:rows` 'it''s :after'", nil},
		{"x::rows :rowset :unknown : ", "x::rows :rowset :unknown : ", "x::rows :rowset :unknown : ", nil},
		{"'open :after", "'open :after", "'open :after", nil},
		{"x:::after :afteré '' :after", "x:::after :afteré '' ?", "x:::after :afteré '' CAST($1 AS bigint)", []any{int64(1)}},
		{"é = :after", "é = ?", "é = CAST($1 AS bigint)", []any{int64(1)}},
	} {
		for d, want := range map[dialect.Dialect]string{dialect.MySQL: c.want, dialect.SQLite: c.want, dialect.Postgres: c.postgres} {
			if got, args := run.Bind(d, c.text, values); got != want || !slices.Equal(args, c.args) {
				t.Errorf("%v, %s: got %s, %v, want %s, %v", d, c.text, got, args, want, c.args)
			}
		}
	}
}

func TestBatchSize(t *testing.T) {
	const target = 500 * time.Millisecond
	got := run.BatchSizes(target, target, target/4, 0, target*3/4, time.Hour, -1)
	if want := []int{500, 1000, 2000, 2666, 1333, 666}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	long, short := slices.Repeat([]time.Duration{time.Hour}, 20), slices.Repeat([]time.Duration{0}, 20)
	if got := run.BatchSizes(target, long...)[19]; got != 1 {
		t.Errorf("got %d, want 1", got)
	}
	if got := run.BatchSizes(target, short...)[19]; got != 1_000_000 {
		t.Errorf("got %d, want 1000000", got)
	}
	if got := run.BatchSizes(target, slices.Repeat([]time.Duration{-1}, 20)...)[19]; got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"shop", "shop", true}, {"shop", "SHOP", true}, {"shop", "shops", false}, {"shop", "sho", false}, {"sh_p", "shop", true}, {"sh_p", "shp", false},
		{`sh\_p`, "shop", false}, {`sh\_p`, "sh_p", true}, {"%", "", true}, {"s%", "shop", true}, {"s%p", "shop", true}, {"s%x", "shop", false}, {"", "", true},
		{"_", "", false}, {`a\`, `a\`, true},
	} {
		if got := run.Like(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: got %t", c.pattern, c.name, got)
		}
	}
}

func TestGranted(t *testing.T) {
	for _, c := range []struct {
		line, want string
		granted    bool
	}{
		{"GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", "ALTER", true},
		{"GRANT SELECT, ALTER ON `shop`.* TO `u`@`%`", "ALTER", true},
		{"GRANT SELECT, ALTER ON `shop`.* TO `u`@`%`", "DROP", false},
		{"GRANT ALTER ON `other`.* TO `u`@`%`", "ALTER", false},
		{"GRANT ALTER ON `shop`.`Or``ders ON x` TO `u`@`%`", "ALTER", true},
		{"GRANT ALTER ON `shop`.`Or``ders ON x``` TO `u`@`%`", "ALTER", false},
		{"GRANT ALTER ON `shop`.`other` TO `u`@`%`", "ALTER", false},
		{"GRANT SELECT (`a`, `b`), INSERT ON `shop`.* TO `u`@`%`", "SELECT", false},
		{"GRANT `role`@`%` TO `u`@`%`", "SELECT", false},
		{"GRANT USAGE ON *.* TO `u`@`%`", "SELECT", false},
		{"GRANT PROXY ON ''@'%' TO 'root'@'localhost'", "SELECT", false},
		{"REVOKE ALTER ON `shop`.* FROM `u`@`%`", "ALTER", false},
	} {
		if got := run.Granted(c.line, c.want, "shop", "or`ders on x"); got != c.granted {
			t.Errorf("%s, %s: got %t", c.line, c.want, got)
		}
	}
}

func TestLagOfReplica(t *testing.T) {
	columns := []string{"Slave_IO_State", "Seconds_Behind_Master", "Last_Error"}
	for _, c := range []struct {
		name   string
		expect func(sqlmock.Sqlmock)
		want   time.Duration
		fails  bool
	}{
		{"newer", func(m sqlmock.Sqlmock) {
			m.ExpectQuery("SHOW REPLICA STATUS").WillReturnRows(sqlmock.NewRows([]string{"Seconds_Behind_Source"}).AddRow("7"))
		}, 7 * time.Second, false},
		{"older", func(m sqlmock.Sqlmock) {
			m.ExpectQuery("SHOW REPLICA STATUS").WillReturnError(&gomysql.MySQLError{Number: 1064})
			m.ExpectQuery("SHOW SLAVE STATUS").WillReturnRows(sqlmock.NewRows(columns).AddRow("Waiting", "3", "").AddRow("Waiting", "5", ""))
		}, 5 * time.Second, false},
		{"stopped", func(m sqlmock.Sqlmock) {
			m.ExpectQuery("SHOW REPLICA STATUS").WillReturnRows(sqlmock.NewRows(columns).AddRow("", nil, "broken"))
		}, run.Never, false},
		{"none", func(m sqlmock.Sqlmock) {
			m.ExpectQuery("SHOW REPLICA STATUS").WillReturnRows(sqlmock.NewRows(columns))
		}, 0, true},
		{"denied", func(m sqlmock.Sqlmock) {
			m.ExpectQuery("SHOW REPLICA STATUS").WillReturnError(&gomysql.MySQLError{Number: 1227})
		}, 0, true},
	} {
		db, mock, err := sqlmock.New()
		if err != nil {
			t.Fatal(err)
		}
		c.expect(mock)
		if got, err := run.LagOfReplica(t.Context(), db); got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
		if err := mock.ExpectationsWereMet(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_ = db.Close()
	}
}

func TestLagOfStandbys(t *testing.T) {
	w := newWorld(t, "postgres")
	if got, err := run.LagOfStandbys(t.Context(), w.db); got != 0 || err != nil {
		t.Errorf("got %v, %v of a server that has none, want 0", got, err)
	}
	for name, c := range map[string]struct {
		rows  [][2]any
		want  time.Duration
		fails error
	}{
		"two":    {[][2]any{{false, int64(1500)}, {false, int64(20)}}, 1500 * time.Microsecond, nil},
		"stuck":  {[][2]any{{false, int64(1500)}, {false, nil}}, run.Never, nil},
		"hidden": {[][2]any{{true, nil}}, 0, run.ErrRights},
	} {
		db, mock, err := sqlmock.New()
		if err != nil {
			t.Fatal(err)
		}
		rows := sqlmock.NewRows([]string{"hidden", "lag"})
		for _, r := range c.rows {
			rows.AddRow(r[0], r[1])
		}
		mock.ExpectQuery("pg_stat_replication").WillReturnRows(rows)
		if got, err := run.LagOfStandbys(t.Context(), db); got != c.want || !errors.Is(err, c.fails) {
			t.Errorf("%s: got %v, %v, want %v, %v", name, got, err, c.want, c.fails)
		}
		_ = db.Close()
	}
}

// A replica that lags is waited for between ranges, and the wait is reported.
func TestLagIsWaitedFor(t *testing.T) {
	dbtest.Long(t)
	w := newWorld(t, "mysql")
	replica, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	defer replica.Close()
	mock.MatchExpectationsInOrder(true)
	row := func(seconds any) *sqlmock.Rows {
		return sqlmock.NewRows([]string{"Seconds_Behind_Master"}).AddRow(seconds)
	}
	for _, seconds := range []any{nil, "9", "1"} {
		mock.ExpectQuery("SHOW REPLICA STATUS").WillReturnRows(row(seconds))
	}
	for range 4 {
		mock.ExpectQuery("SHOW REPLICA STATUS").WillReturnRows(row("0"))
	}
	w.plan.Steps = w.plan.Steps[5:6]
	o := fast
	o.MaxLag, o.Replicas = time.Second, append(o.Replicas, replica)
	var waits []string
	o.Progress = func(p run.Progress) {
		if p.Waits != "" {
			waits = append(waits, p.Waits)
		}
		if p.Step != 1 || p.Steps != 1 || p.Title != "count visits" || p.Total != -1 {
			t.Errorf("got %+v", p)
		}
	}
	if _, err := run.Plan(t.Context(), w.db, w.plan, o); err != nil {
		t.Fatal(err)
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
	if !slices.Contains(waits, "a replica that is 9s behind") {
		t.Errorf("got %q, want the wait for 9 s", waits)
	}
}
