package dbserver_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A server whose processes begin and end all the time, one for each connection, is stopped without an error.
func TestStopWhileProcessesEnd(t *testing.T) {
	dbtest.Long(t)
	server := dbtest.StartPostgres(t)
	d := server.Database(t)
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		var connecting sync.WaitGroup
		connected := make(chan struct{}, 1000)
		for range 16 {
			connecting.Go(func() {
				for ctx.Err() == nil {
					if pool, err := sql.Open("pgx", d.DSN); err == nil {
						if pool.PingContext(ctx) == nil { // else the server is gone
							select {
							case connected <- struct{}{}:
							default:
							}
						}
						_ = pool.Close()
					}
				}
			})
		}
		for range 50 {
			select {
			case <-connected:
			case <-time.After(time.Minute):
				t.Fatal("no connection succeeds")
			}
		}
		err := server.Stop()
		cancel()
		connecting.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
}
