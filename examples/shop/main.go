package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin"
)

// grace is how long requests under way may take after SIGTERM. Close of the plugin takes ten seconds at most, so have the orchestrator wait for longer
// than both before it kills.
const grace = 15 * time.Second

func main() {
	if err := run(); err != nil { // deferred calls have run by now
		log.Fatal(err)
	}
}

func run() (err error) {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()

	db, err := open(cmp.Or(os.Getenv("SHOP_DB"), "sqlite:shop.db"))
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }() // third

	plugin := gormplugin.New()
	if err := db.Use(plugin); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close()) }() // second: it needs the database
	if err := db.AutoMigrate(&Customer{}, &Order{}, &Line{}); err != nil {
		return err
	}

	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("SHOP_ADDR"), "127.0.0.1:8080"))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: shop{db, plugin}.handler(), ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Println("listening on", listener.Addr())

	select {
	case err := <-failed:
		return err
	case <-stop.Done():
	}
	ended, cancelEnd := context.WithTimeout(context.Background(), grace)
	defer cancelEnd()
	return server.Shutdown(ended) // first: requests under way still get keys
}

// open opens the database that a text names.
func open(name string) (*gorm.DB, error) {
	kind, dsn, _ := strings.Cut(name, ":")
	var dialector gorm.Dialector
	switch kind {
	case "sqlite":
		dialector = sqlite.Open(dsn + "?_journal_mode=WAL&_txlock=immediate&_busy_timeout=10000&_foreign_keys=on")
	case "mysql":
		dialector = mysql.Open(dsn)
	case "postgres":
		dialector = postgres.Open(name)
	default:
		return nil, errors.New("SHOP_DB is none of sqlite:FILE, mysql:DSN and postgres://…")
	}
	// To standard error, as all else that is logged; GORM's own logger writes to standard output.
	warnings := logger.New(log.Default(), logger.Config{SlowThreshold: time.Second, LogLevel: logger.Warn, IgnoreRecordNotFoundError: true})
	return gorm.Open(dialector, &gorm.Config{TranslateError: true, Logger: warnings})
}
