package nextid_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// Of two sessions that open the same tick at once, the second does not wait for the first one's commit, although it moves the counter to a word of the first.
func TestTickOpenedAtOnce(t *testing.T) {
	f := newFixture(t, dbtest.MySQL(t), idgen.Snowkey.Layout, func(statement string) string {
		return strings.Replace(statement, "SET target", "IF @pause IS NOT NULL THEN DO GET_LOCK(@pause, 30); DO RELEASE_LOCK(@pause); END IF;\nSET target", 1)
	})
	control := f.session(t)
	until := func(paused int64) {
		t.Helper()
		query := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock' AND DB = DATABASE()"
		for end := time.Now().Add(20 * time.Second); mustCall(t, control, query)[0] != paused; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not %d sessions are paused", paused)
			}
		}
	}
	type result struct {
		keys []int64
		err  error
	}
	sessions, results := []queryer{}, []chan result{}
	at := time.Now().Add(time.Hour).Unix()
	for i := range int64(2) { // the first one takes the earlier word
		name := fmt.Sprintf("CONCAT(DATABASE(), '_%d')", i)
		if got := mustCall(t, control, "SELECT GET_LOCK("+name+", 0)"); got[0] != 1 {
			t.Fatal("the lock is not free")
		}
		tx, err := f.session(t).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		for _, statement := range []string{fmt.Sprintf("SET timestamp = %d", at), "SET @pause = " + name, "SET innodb_lock_wait_timeout = 20"} {
			if _, err := tx.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan result, 1)
		sessions, results = append(sessions, tx), append(results, done)
		go func() {
			keys, err := call(t.Context(), tx, nextKey)
			done <- result{keys, err}
		}()
		until(i + 1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all seen
	for i := range sessions { // the first transaction stays open
		mustCall(t, control, fmt.Sprintf("SELECT RELEASE_LOCK(CONCAT(DATABASE(), '_%d'))", i))
		select {
		case <-ctx.Done():
			t.Fatalf("session %d waits for the transaction of the other", i)
		case got := <-results[i]:
			if got.err != nil {
				t.Fatal(got.err)
			}
			all.add(t, fmt.Sprint("session ", i), got.keys...)
		}
	}
}
