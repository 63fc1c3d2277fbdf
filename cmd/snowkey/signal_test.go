//go:build unix

package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/migratetest"
)

// process is the command at work, in a process of its own.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan error // how it ended
}

// begin starts the command. It is killed with the test, should it work still.
func begin(t testing.TB, temporary string, args ...string) *process {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(executable), ended: make(chan error, 1)}
	p.Args = append([]string{"snowkey"}, args...) // TestMain goes by the name
	p.Env = append(os.Environ(), "TMPDIR="+temporary, "GORACE=atexit_sleep_ms=0")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		p.ended <- p.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it has ended already unless the test has failed
		<-done
	})
	return p
}

// until waits until something is so, and fails the test if the process ends before.
func (p *process) until(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if len(p.ended) > 0 || time.Now().After(deadline) {
			t.Fatalf("not seen: %s; ended: %v, standard error:\n%s", what, len(p.ended) > 0, &p.stderr)
		}
	}
}

// growing reports whether a table has more rows than are inserted before the rounds.
func growing(t *testing.T, kind string, db *sql.DB) func() bool {
	names := map[string]string{
		"sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'snowkey%rows'",
		"mysql":  "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'snowkey%rows'",
	}[kind]
	return func() bool {
		var name string
		var rows int
		if db.QueryRowContext(t.Context(), names).Scan(&name) != nil { // there is none yet
			return false
		}
		return db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+name).Scan(&rows) == nil && rows > 5000
	}
}

// made returns how many tables a run has there.
func made(t *testing.T, kind string, db *sql.DB) (tables int) {
	t.Helper()
	query := map[string]string{
		"sqlite": "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name LIKE 'snowkey%'",
		"mysql":  "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'snowkey%'",
	}[kind]
	if err := db.QueryRowContext(t.Context(), query).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

// long are the arguments of a run that lasts for minutes.
var long = []string{"compare", "--rows", "1000000", "--rounds", "100", "--strategies", "autoincrement"}

// A signal in the middle of a round ends the run: what was measured is written, the tables are dropped, and the exit status tells.
func TestSignalEndsRun(t *testing.T) {
	for _, tt := range []struct {
		kind     string
		database func(testing.TB) dbtest.Database
		signal   syscall.Signal
	}{{"mysql", dbtest.MySQL, syscall.SIGINT}, {"sqlite", sqliteFile, syscall.SIGTERM}} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			database := tt.database(t)
			db := database.Open(t)
			out, temporary := filepath.Join(t.TempDir(), "out"), t.TempDir()
			p := begin(t, temporary, append(long[:len(long):len(long)], "--db", database.DSN, "--out", out)...)
			p.until(t, "a table that grows", growing(t, tt.kind, db))
			if err := p.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			<-p.ended
			if status := p.ProcessState.ExitCode(); status != 1 {
				t.Errorf("got the exit status %d: %v", status, p.ProcessState)
			}
			message := p.stderr.String()
			if strings.Count(message, "snowkey:") != 1 || strings.Count(message, "\n") != 3 || !strings.HasPrefix(message, "Plan: 100 rounds of 1,000,000 rows, ") ||
				!strings.Contains(message, "snowkey: interrupted; what was measured until then is kept: ") {
				t.Errorf("got the standard error %q", message)
			}
			if n := made(t, tt.kind, db); n != 0 {
				t.Errorf("%d tables are left behind", n)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("%v is left in the temporary folder (%v)", left, err)
			}
			file, err := os.Open(filepath.Join(out, "result.json"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			r, err := result.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			if s := r.Databases[0].Strategies[0]; r.Interrupted == "" || !s.Verify.OK() || len(s.Verify.Checks) == 0 || s.Key.Column == "" {
				t.Errorf("got %q and %+v, want what was measured", r.Interrupted, s.Verify)
			}
			if report := p.stdout.String(); !strings.HasPrefix(report, "NOT COMPLETE") || strings.Contains(report, "FAILED") {
				t.Errorf("got the standard output\n%s", report)
			}
		})
	}
}

// What a run that was killed has left is named by the next one, which does not touch it.
func TestKilledRunIsNamed(t *testing.T) {
	database := sqliteFile(t)
	db := database.Open(t)
	p := begin(t, t.TempDir(), append(long[:len(long):len(long)], "--db", database.DSN)...)
	p.until(t, "a table that grows", growing(t, database.Kind, db))
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	before := made(t, database.Kind, db)
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	args := []string{"compare", "--rows", "10", "--rounds", "1", "--strategies", "autoincrement", "--db", database.DSN}
	if status := run(t.Context(), args, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("got status %d: %s", status, &stderr)
	}
	if !strings.Contains(stderr.String(), "an earlier run that was killed has left snowkey_compare_") {
		t.Errorf("got the standard error %q", &stderr)
	}
	if after := made(t, database.Kind, db); before == 0 || after != before {
		t.Errorf("%d tables were left behind, then there are %d", before, after)
	}
}

// A signal in the middle of a migration's batches ends it with how to go on, and the next run does.
func TestSignalEndsMigration(t *testing.T) {
	t.Parallel()
	database := sqliteFile(t)
	db := database.Open(t)
	for _, statement := range migratetest.Schema("sqlite") {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := migratetest.Fill(t.Context(), db, "sqlite", 700, 1); err != nil {
		t.Fatal(err)
	}
	before, err := migratetest.Checksum(t.Context(), db, "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rekey.sql")
	var stdout, stderr bytes.Buffer
	do := func(want int, args ...string) {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		args = append([]string{"migrate", args[0], "--db", database.DSN}, args[1:]...)
		if status := run(t.Context(), args, nil, &stdout, &stderr); status != want {
			t.Fatalf("%q: got status %d, want %d: %s", args, status, want, &stderr)
		}
	}
	do(0, "plan", "--mode", "rekey", "--zone", "UTC", "--window", "10ms", "--reference", "audit_log.user_id=users.id", "--reference", "events.data:$.user.id=users.id", "--out", file)
	do(0, "run", file)
	p := begin(t, t.TempDir(), "migrate", "run", "--db", database.DSN, "--continue=deploy-writers", "--target", "1ms", "--throttle", "0.95", file)
	p.until(t, "a batch in the middle of a step", func() bool {
		var rows int
		return db.QueryRowContext(t.Context(), "SELECT MAX(changed_rows) FROM snowkey_migrate_steps WHERE state = 'begun'").Scan(&rows) == nil && rows > 0
	})
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	message := p.stderr.String()
	if p.ProcessState.ExitCode() != 1 || strings.Count(message, "snowkey:") != 1 ||
		!strings.Contains(message, "interrupted; what was done is kept: ") || !strings.Contains(message, "run again goes on at step ") {
		t.Errorf("got %v and the standard error %q", p.ProcessState, message)
	}
	if p.stdout.Len() > 0 {
		t.Errorf("got the standard output %q", &p.stdout)
	}
	do(0, "run", file)
	if !strings.Contains(stdout.String(), "at the hold drop-maps, step ") {
		t.Errorf("got the standard output %q", &stdout)
	}
	do(0, "verify", file)
	do(0, "run", "--continue=drop-maps", file)
	if after, err := migratetest.Checksum(t.Context(), db, "sqlite"); err != nil || after != before {
		t.Errorf("got %s, %v, want %s", after, err, before)
	}
}

// A second signal ends the program at once, here while a server does not answer.
func TestSecondSignalEndsProgram(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMySQL(t)
	database := server.Database(t)
	p := begin(t, t.TempDir(), append(long[:len(long):len(long)], "--db", database.DSN)...)
	p.until(t, "a table that grows", growing(t, "mysql", database.Open(t)))
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	p.until(t, "its end by a signal", func() bool {
		_ = p.Process.Signal(syscall.SIGINT) // fails when it has ended
		select {
		case err := <-p.ended:
			p.ended <- err
			status, ok := p.ProcessState.Sys().(syscall.WaitStatus)
			return ok && status.Signaled() && status.Signal() == syscall.SIGINT
		case <-time.After(20 * time.Millisecond):
			return false
		}
	})
}

// An interrupt while a private server is made ends that, and nothing is left of it.
func TestSignalWhileServerStarts(t *testing.T) {
	dbtest.MySQL(t)                                     // skips the test where there is none
	temporary, err := os.MkdirTemp("", "snowkey-test-") // short enough for a socket's path, unlike the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temporary)
	if err := os.Chmod(temporary, 0o755); err != nil { // the server's user is another one
		t.Fatal(err)
	}
	p := begin(t, temporary, "compare", "--db", "private:mysql")
	p.until(t, "the server's data", func() bool {
		found, err := filepath.Glob(filepath.Join(temporary, "snowkey-*", "data", "ibdata1"))
		return err == nil && len(found) > 0
	})
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	message := p.stderr.String()
	if p.ProcessState.ExitCode() != 1 || strings.Count(message, "\n") != 1 || !strings.Contains(message, "interrupted; nothing was measured: ") {
		t.Errorf("got %v and the standard error %q", p.ProcessState, message)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

// A hangup that was to be ignored from the start, as nohup has it, does not end a run.
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	if !slices.Contains(endings(), os.Signal(syscall.SIGHUP)) {
		t.Skip("the test itself ignores hangups")
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if got := fmt.Sprint(endings()); got != "[interrupt terminated]" {
		t.Errorf("got %s, want no hangup", got)
	}
}
