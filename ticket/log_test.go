package ticket_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// The log has a line when a server is no longer used, and one when it is again, however many probes fail between them; and that it is quarantined.
func TestLogOfServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		messages := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "err" {
				return slog.Attr{}
			}
			return a
		}}
		one := single{1, 1}
		m := newMock(t, append(one.look(0), one.draw(0, 1))...)
		s, _ := tickets(t, ticket.Config{Failures: 1, Backoff: time.Second, MaxBackoff: time.Second, Logger: slog.New(slog.NewTextHandler(&lines, messages))}, m)
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			text := ""
			for _, message := range want {
				text += `level=WARN msg="snowkey: a ticket server ` + message + `" sequence=default server="server 1" place=app.snowkey_tickets` + "\n"
			}
			if lines.String() != text {
				t.Errorf("%s: got\n%swant\n%s", when, lines.String(), text)
			}
			lines.Reset()
		}
		wantNext(t, s, 1)
		expect("at the start")
		fails := func(why string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if id, err := s.Next(ctx); err == nil {
				t.Fatalf("got %d, %s", id, why)
			}
		}
		m.expect(one.draw(1, 2).fails(my(1040)))
		fails("of a server that is down")
		for range 3 {
			m.expect(one.look(1).fail("settings", my(1053)).until("settings")...)
			time.Sleep(2 * time.Second)
			probe(s)
		}
		expect("after four failures", "is left alone for a while")
		m.expect(append(one.look(1), one.draw(1, 3))...)
		time.Sleep(2 * time.Second)
		wantNext(t, s, 3)
		expect("when it is back", "is in use again")
		m.expect(one.draw(3, 2))
		fails("a number of before")
		expect("after a number of before", "is quarantined; it is not used until Readmit")
		m.expect(append(one.look(3), one.draw(3, 4))...)
		if err := s.Readmit("server 1"); err != nil {
			t.Fatal(err)
		}
		wantNext(t, s, 4)
		expect("when it is admitted again", "is in use again")
	})
}
