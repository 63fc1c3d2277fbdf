package ticket_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestSettingComesBack has a setting wrong for a while, under load. Nothing is drawn meanwhile, and the server comes back by itself; one that was set back
// meanwhile does not.
func TestSettingComesBack(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	server := dbtest.StartMySQL(t, offset(2, 1)...)
	d := server.Database(t)
	admin := open(t, d)
	for _, setting := range []struct {
		name         string
		wrong, right string
		want         error
	}{
		{"flush", "SET GLOBAL innodb_flush_log_at_trx_commit = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 1", ticket.ErrUnsafe},
		{"offset", "SET GLOBAL auto_increment_offset = 2", "SET GLOBAL auto_increment_offset = 1", ticket.ErrLayout},
	} {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/set back: %t", setting.name, back), func(t *testing.T) {
				r, config := newRecorder(t), quick(ticket.Config{Sequence: fmt.Sprint(setting.name, back), Increment: 2})
				pool := serverOf(t, d)
				pool.DB.SetMaxIdleConns(-1) // so that sessions have the settings of now
				source := flickr(t, config, pool)
				mustSetUp(t, source)
				load := r.load("throughout", source, 4)
				load.more(100)
				execute(t, admin, setting.wrong)
				s := waitFor(t, source, 1, ticket.Open)
				if !errors.Is(s.Err, setting.want) {
					t.Errorf("got %v, want %v", s.Err, setting.want)
				}
				position := func() int64 {
					return ask(t, admin, "SELECT id FROM snowkey_tickets WHERE stub = '"+config.Sequence+"'")
				}
				probed := func() {
					t.Helper()
					failed := source.Stats().Servers[0].Failures[ticket.Permanent]
					eventually(t, "it was probed again", func() bool { return source.Stats().Servers[0].Failures[ticket.Permanent] > failed+2 })
				}
				at := position() // by sessions of before, which have the right setting, too
				eventually(t, "the last call of before has ended", func() bool {
					before := at
					probed()
					at = position()
					return at == before
				})
				if probed(); position() != at {
					t.Errorf("the server went from %d to %d with the wrong setting", at, position())
				}
				if !back {
					execute(t, admin, setting.right)
					load.more(100) // without Readmit
					load.stop()
					return
				}
				execute(t, admin, "UPDATE snowkey_tickets SET id = 1 WHERE stub = '"+config.Sequence+"'", setting.right)
				if s := waitFor(t, source, 1, ticket.Quarantined); !errors.Is(s.Err, ticket.ErrRegression) {
					t.Errorf("got %v, want ErrRegression", s.Err)
				}
				time.Sleep(2 * config.MaxBackoff)
				wantRefused(t, source, ticket.ErrRegression)
				if s := source.Stats().Servers[0]; s.State != ticket.Quarantined {
					t.Errorf("got %+v, want it in quarantine until Readmit", s)
				}
				execute(t, admin, fmt.Sprintf("UPDATE snowkey_tickets SET id = %d WHERE stub = '%s'", at+1000, config.Sequence))
				must(t, source.Readmit("server 1"))
				load.more(100)
				load.stop()
			})
		}
	}
}

// A server that is refused because of a setting is probed at intervals of MaxBackoff. Calls do not wait for it, and the one that finds it in order gets an id.
func TestSettingIsProbed(t *testing.T) {
	for name, wrong := range map[string]func(script) script{"unsafe": settings(1, 0, 0, 2, 1, 1, "ROW", 2, 1, 1, 2, 1), "offset": otherOffset(2, 2, 2, 2)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := single{1, 2}
				none := one.draw(601, 0)
				none.result = answer{}
				m := newMock(t, append(one.look(600), one.draw(600, 601), none)...)
				s, notes := tickets(t, ticket.Config{Increment: 2, MaxBackoff: 10 * time.Second}, m)
				wantNext(t, s, 601)
				for range 3 {
					m.expect(wrong(one.look(601))...)
					for _, wait := range []time.Duration{0, 0, 7 * time.Second, 6 * time.Second} { // 10 seconds, give or take a fifth
						start := time.Now()
						_, err := s.Next(t.Context())
						if wantUnavailable(t, err); time.Since(start) != 0 {
							t.Errorf("got %v after %v", err, time.Since(start))
						}
						time.Sleep(wait)
					}
				}
				m.expect(append(one.look(601), one.draw(601, 603))...)
				wantNext(t, s, 603)
				wantNotes(t, notes, "server 1 closed", "server 1 open", "server 1 closed")
			})
		})
	}
}
