package gormplugin_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// onEach runs a test on a fresh database of each kind. "mysql" is a MariaDB server by a dialector that does not use RETURNING, as it
// is with MySQL 8.
func onEach[T interface {
	testing.TB
	Run(string, func(T)) bool
}](t T, test func(t T, db *gorm.DB)) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{
		"sqlite": dbtest.SQLite, "mariadb": dbtest.MySQL, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres,
	} {
		t.Run(name, func(t T) {
			parsed, pool := openPool(t, make(t).DSN)
			dialector := parsed.Dialector(pool)
			if name == "mysql" {
				dialector = mysql.New(mysql.Config{Conn: pool, DisableWithReturning: true})
			}
			if name == "sqlite" {
				pool.SetMaxOpenConns(1)
			}
			db := openGORM(t, dialector, &gorm.Config{Logger: new(recorder)})
			test(t, db)
		})
	}
}

// recorder is a logger that keeps the statements while it is on: GORM takes long, and with the race detector seconds, to write out one with
// thousands of values.
type recorder struct {
	mu         sync.Mutex
	on         bool
	statements []string
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface      { return r }
func (r *recorder) Info(context.Context, string, ...interface{})  {}
func (r *recorder) Warn(context.Context, string, ...interface{})  {}
func (r *recorder) Error(context.Context, string, ...interface{}) {}

func (r *recorder) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on {
		sql, _ := statement()
		r.statements = append(r.statements, sql)
	}
}

// silent is a logger that does nothing.
type silent struct{ logger.Interface }

func (s silent) LogMode(logger.LogLevel) logger.Interface                      { return s }
func (silent) Trace(context.Context, time.Time, func() (string, int64), error) {}

// recorded returns the statements that do causes.
func recorded(db *gorm.DB, do func()) []string {
	r := db.Logger.(*recorder)
	r.mu.Lock()
	r.on, r.statements = true, nil
	r.mu.Unlock()
	do()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
	return r.statements
}

// use registers the plugin with a generator of its own, and makes the tables of the models. Options of the plugin may be among them.
func use(t *testing.T, db *gorm.DB, models ...any) *idgen.Snowflake {
	t.Helper()
	generator := mustGenerator(t)
	useSource(t, db, generator, models...)
	return generator
}

func useSource(t *testing.T, db *gorm.DB, source idgen.Source[int64], models ...any) {
	t.Helper()
	options := []gormplugin.Option{gormplugin.From(source)}
	models = slices.DeleteFunc(models, func(m any) bool {
		o, ok := m.(gormplugin.Option)
		if ok {
			options = append(options, o)
		}
		return ok
	})
	if err := db.Use(gormplugin.New(options...)); err != nil {
		t.Fatal(err)
	}
	migrate(t, db, models...)
}

func migrate(t *testing.T, db *gorm.DB, models ...any) {
	t.Helper()
	if err := db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
}
