//go:build linux

package grant_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// tortureVariable is for how long each database's processes are tortured: "10m". tortureSeedVariable is a seed to begin with again,
// which makes the same choices; when what happens is not in its hands.
const (
	tortureVariable     = "SNOWKEY_TORTURE"
	tortureSeedVariable = "SNOWKEY_TORTURE_SEED"
)

const (
	tortureShort    = 10 * time.Second
	tortureChildren = 8 // processes at any time
	tortureLeast    = 300
	// torturePatience is for what may take its time on a busy machine, but must happen: that a process makes ids again, that it ends.
	torturePatience = 3 * time.Minute
)

// The faults. The first group is done to processes, the second to servers.
const (
	faultKill        = "killed"
	faultStop        = "stopped"
	faultStopLong    = "stopped for longer than granted"
	faultForward     = "clock forward"
	faultBack        = "clock back"
	faultFreeze      = "clock frozen"
	faultWrong       = "started with a wrong clock"
	faultEnd         = "ended"
	faultReopen      = "all reopened at once"
	faultKillSeveral = "several killed at once"

	faultStore = "the database's clock stepped"

	faultClone = "cloned"

	// These are done to the table of grants, one at a time.
	faultRestore      = "table restored"
	faultRestoreEnded = "table restored after all had ended"
	faultDelete       = "row deleted"
	faultDrop         = "table dropped"

	faultServerKill  = "server killed"
	faultServerPause = "server paused"
)

// tortureFaults are the faults of processes, as often as they are to come in proportion.
var tortureFaults = []string{
	faultKill, faultKill, faultStop, faultStopLong, faultStopLong, faultForward, faultForward, faultBack, faultBack,
	faultFreeze, faultWrong, faultEnd, faultReopen, faultKillSeveral, faultStore, faultClone, faultClone,
	faultRestore, faultRestore, faultRestoreEnded, faultDelete, faultDrop,
}

// tableFaults are those that are done to the table, at times that are apart.
var tableFaults = []string{faultRestore, faultRestoreEnded, faultDelete, faultDrop}

// tortureBits are those of the number: with 16 numbers each process finds one at once; with 8, those that are started while the numbers of
// the killed are still granted wait for the numbers of the stopped, and of a table that was restored most numbers are in use.
var tortureBits = map[string]int{"sqlite": 4, "mysql": 4, "postgres": 3}

// TestTorture has processes make ids with grants and insert them into a table, while they are killed, stopped and given wrong clocks, and
// the database is killed and paused. No two grants of a number may overlap. The short tests have one database. SNOWKEY_TORTURE=10m makes it last for that long, on each
// database.
//
// The table of grants is also restored from copies of before, dropped, and rows of it deleted, and keepers are cloned with their memory. Ids
// may come twice then, but only those that keepers say to be in doubt, or would have said had their process not been ended before they
// noticed. Where all processes had ended before a restore, none may.
//
// Before that, the same processes make ids with numbers that are leased for a time, and are stopped for longer: there must be ids that
// come twice, or else none is noticed.
func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are not tortured with -short")
	}
	duration := tortureShort
	if text := os.Getenv(tortureVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", tortureVariable, err)
		}
	}
	seed := rand.Uint64()
	if text := os.Getenv(tortureSeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", tortureSeedVariable, err)
		}
	}
	t.Logf("%s=%d", tortureSeedVariable, seed)
	for i, kind := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			if kind != "mysql" {
				dbtest.Long(t)
			}
			t.Parallel()
			var server *dbtest.Server
			database := dbtest.SQLite
			switch kind {
			case "mysql":
				server = dbtest.StartMySQL(t, "--max-connections=200")
			case "postgres":
				server = dbtest.StartPostgres(t, "max_connections=200")
			}
			if server != nil {
				database = func(t testing.TB) dbtest.Database { return server.Database(t) }
			}
			t.Run("leases", func(t *testing.T) {
				newTorture(t, database(t), nil, rand.New(rand.NewPCG(seed, uint64(3+i))), true).untilDuplicate()
			})
			t.Run("grants", func(t *testing.T) {
				newTorture(t, database(t), server, rand.New(rand.NewPCG(seed, uint64(i))), false).run(duration)
			})
		})
	}
}

// torture is one run on one database. Its fields are of the test's goroutine, but for those that say otherwise.
type torture struct {
	t        *testing.T
	folder   string
	random   *rand.Rand
	database dbtest.Database
	server   *dbtest.Server // nil for none that may be hurt
	leases   bool
	bits     int // of the number
	began    time.Time
	started  int // processes so far
	clock    *tortureTime
	right    time.Time       // the store's clock is set right then
	floor    time.Time       // it does not go back before this
	running  []*tortureChild // tortureChildren of them
	total    tortureReport   // of those that have ended

	copies   []tableCopy // of the table of grants, the oldest first
	taken    int         // copies so far
	nextCopy time.Time   // when the next one is taken
	nextHarm time.Time   // before that nothing is done to the table
	deleted  int         // rows, since the table was restored or dropped
	ended    []int       // the number of the last process that had ended before a restore for which all had

	mu         sync.Mutex         // guards all of these
	faults     map[string]int     // done so far
	violations []tortureViolation // the first of them
	violated   map[string]int     // by kind
	duplicates []tortureDuplicate
	holds      map[string][]*tortureHold // by the keeper's label
	pairs      []*torturePair
	forgotten  []tickRange // when the table was restored or dropped
	doubts     doubts
	reported   map[tortureLoss]bool // by keepers
	recorded   map[tortureLoss]bool // by the table
	unheard    int                  // keepers that ended before they could notice that the store had forgotten them
	clones     int
	losses     int
}

func newTorture(t *testing.T, database dbtest.Database, server *dbtest.Server, random *rand.Rand, leases bool) *torture {
	bits := tortureBits[database.Kind]
	if leases {
		bits = leaseBits
	}
	r := &torture{
		t: t, folder: t.TempDir(), random: random, database: database, server: server, leases: leases, bits: bits, began: time.Now(),
		total:  tortureReport{Errors: map[string]int64{}, Examples: map[string]string{}},
		faults: map[string]int{}, violated: map[string]int{}, holds: map[string][]*tortureHold{},
		reported: map[tortureLoss]bool{}, recorded: map[tortureLoss]bool{},
	}
	r.nextHarm, r.nextCopy = r.began.Add(2*time.Second), r.began.Add(tortureCopyEvery)
	var err error
	if r.clock, err = mapTortureTime(r.clockFile()); err != nil {
		t.Fatal(err)
	}
	statements := []string{"CREATE TABLE ids (id BIGINT PRIMARY KEY, pid VARCHAR(40) NOT NULL)"}
	if database.Kind == "sqlite" {
		statements = append([]string{"PRAGMA journal_mode = WAL"}, statements...)
	}
	if leases {
		statements = append(statements, leaseTable()...)
	} else {
		statements = append(statements, tortureCopyTable)
	}
	db := database.Open(t)
	defer db.Close() // before the server is killed
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// clockFile is where the clock is that all processes have mapped.
func (r *torture) clockFile() string { return filepath.Join(r.folder, "clock") }

// tortureChild is a process. Its fields are of the test's goroutine, but for those that say otherwise.
type tortureChild struct {
	number  int
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stopped bool
	until   time.Time     // it is stopped until then
	right   time.Time     // its clock is set right then; zero for never
	done    chan struct{} // closed when it has ended
	err     error         // of its end; to be read when done is closed
	stderr  bytes.Buffer  // to be read when done is closed

	mu     sync.Mutex
	report tortureReport // guarded by mu: its last
	spoken time.Time     // guarded by mu: when that came
	noise  []string      // guarded by mu: lines that are none of its messages
}

// start starts a process. The kernel kills it when the thread that has started it ends, to which the test's goroutine is locked.
func (r *torture) start(offset time.Duration) *tortureChild {
	r.t.Helper()
	r.started++
	orders, err := json.Marshal(tortureOrders{
		Kind: r.database.Kind, Driver: r.database.DriverName, DSN: r.database.DriverDSN,
		Leases: r.leases, Bits: r.bits, Number: r.started, Offset: offset, Clock: r.clockFile(),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	c := &tortureChild{number: r.started, done: make(chan struct{})}
	c.cmd = exec.Command("/proc/self/exe", "-test.run=^TestProcessOfTorture$", "-test.timeout=0")
	c.cmd.Env = append(os.Environ(), tortureChildVariable+"="+string(orders),
		"GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0") // it waits for a second at the end of each otherwise
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.cmd.Stderr = &c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			r.hear(c, lines.Bytes())
		}
		c.err = errors.Join(lines.Err(), c.cmd.Wait())
	}()
	return c
}

// hear takes a message of a process.
func (r *torture) hear(c *tortureChild, line []byte) {
	var m tortureMessage
	err := json.Unmarshal(line, &m)
	c.mu.Lock()
	switch {
	case err != nil:
		if c.noise = append(c.noise, string(line)); len(c.noise) > 50 {
			c.noise = c.noise[1:]
		}
	case m.Report != nil:
		c.report, c.spoken = *m.Report, time.Now()
	}
	c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case m.Event != nil:
		r.observe(c, *m.Event)
	case m.Duplicate != nil:
		r.duplicates = append(r.duplicates, *m.Duplicate)
	}
	if m.Violation == nil {
		return
	}
	r.violated[m.Violation.Kind]++
	if len(r.violations) < 5 {
		r.violations = append(r.violations, *m.Violation)
	}
}

// last returns the process's last report, and when it came.
func (c *tortureChild) last() (tortureReport, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report, c.spoken
}

// tell gives a process an order.
func (c *tortureChild) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(c.stdin, format+"\n", args...) // when it has ended, that is found by itself
}

func (c *tortureChild) stop(d time.Duration) {
	_ = c.cmd.Process.Signal(syscall.SIGSTOP)
	c.stopped, c.until = true, time.Now().Add(d)
}

func (c *tortureChild) resume() {
	_ = c.cmd.Process.Signal(syscall.SIGCONT)
	c.stopped = false
}

// kill kills a process and waits for its end.
func (r *torture) kill(c *tortureChild) {
	_ = c.cmd.Process.Kill()
	<-c.done
	r.account(c)
}

// end has a process end by itself.
func (r *torture) end(c *tortureChild) {
	r.t.Helper()
	_ = c.stdin.Close()
	select {
	case <-c.done:
	case <-time.After(torturePatience):
		_ = c.cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case <-c.done:
		case <-time.After(5 * time.Second):
		}
		r.kill(c)
		r.t.Errorf("process %d does not end; its goroutines are\n%s", c.number, c.stderr.String())
		return
	}
	r.account(c)
	r.check(c)
}

// check is of a process that has ended by itself.
func (r *torture) check(c *tortureChild) {
	r.t.Helper()
	if c.err != nil {
		r.t.Errorf("process %d ended with %v:\n%s", c.number, c.err, strings.Join(c.noise, "\n"))
	}
}

// account adds the last report of a process that has ended to the total.
func (r *torture) account(c *tortureChild) {
	r.t.Helper()
	if text := c.stderr.String(); text != "" && !strings.HasPrefix(text, "SIGQUIT") {
		r.t.Errorf("process %d said\n%.4000s", c.number, text)
	}
	r.silence(c)
	last, _ := c.last()
	r.total.Made += last.Made
	r.total.Stored += last.Stored
	r.total.Opened += last.Opened
	r.total.Lost += last.Lost
	for class, n := range last.Errors {
		r.total.Errors[class] += n
		r.total.Examples[class] = last.Examples[class]
	}
}

// did counts a fault.
func (r *torture) did(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[fault]++
}

// startAll starts the processes, and returns what ends them at once, whatever happens.
func (r *torture) startAll() (cleanUp func()) {
	runtime.LockOSThread()
	for range tortureChildren {
		r.running = append(r.running, r.start(0))
	}
	return func() {
		for _, c := range r.running {
			_ = c.cmd.Process.Kill()
			<-c.done
		}
		runtime.UnlockOSThread()
	}
}

// tend resumes those whose time has come, and sets clocks right. A process that has ended by itself is an error, and replaced.
func (r *torture) tend() {
	r.t.Helper()
	now := time.Now()
	if now.After(r.right) {
		r.clock.offset.Store(0)
	}
	for i, c := range r.running {
		if c.stopped && now.After(c.until) {
			c.resume()
		}
		if !c.right.IsZero() && now.After(c.right) {
			c.tell("right")
			c.right = time.Time{}
		}
		select {
		case <-c.done:
			r.account(c)
			r.check(c)
			r.t.Errorf("process %d has ended", c.number)
			r.running[i] = r.start(0)
		default:
		}
	}
}

// rest lets some time pass, and tends.
func (r *torture) rest(d time.Duration) {
	r.t.Helper()
	for deadline := time.Now().Add(d); ; {
		r.tend()
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		time.Sleep(min(left, 20*time.Millisecond))
	}
}

// between returns a random time.
func (r *torture) between(least, most time.Duration) time.Duration {
	return between(r.random, least, most)
}

func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}

// magnitude returns a random time, of which each order of magnitude is as likely as another.
func (r *torture) magnitude(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Exp(r.random.Float64()*math.Log(float64(most)/float64(least))))
}

// slight returns an offset of the clock that a process may start with.
func (r *torture) slight() time.Duration {
	if r.random.IntN(2) == 0 {
		return 0
	}
	return r.between(-tortureMaxSkew*9/10, tortureMaxSkew*9/10)
}

// hurt does a fault to the processes, and returns false when those that it would be done to are stopped.
func (r *torture) hurt(fault string) bool {
	r.t.Helper()
	if slices.Contains(tableFaults, fault) {
		if time.Now().Before(r.nextHarm) {
			return false
		}
		defer func() { r.nextHarm = time.Now().Add(r.between(700*time.Millisecond, 3*time.Second)) }()
	}
	i := r.random.IntN(len(r.running))
	c := r.running[i]
	stopped := 0
	for _, other := range r.running {
		if other.stopped {
			stopped++
		}
	}
	switch fault {
	case faultKill, faultWrong: // stopped or not
		offset := r.slight()
		if fault == faultWrong {
			offset = r.magnitude(tortureMaxSkew*3/2, time.Hour)
			if r.random.IntN(2) == 0 {
				offset = -offset
			}
		}
		r.kill(c)
		r.running[i] = r.start(offset)
	case faultKillSeveral:
		several := r.random.Perm(len(r.running))[:2+r.random.IntN(3)]
		for _, i := range several {
			_ = r.running[i].cmd.Process.Kill()
		}
		for _, i := range several {
			r.kill(r.running[i])
			r.running[i] = r.start(r.slight())
		}
	case faultStore:
		// Back more often: that is when numbers that are free have an until to come. What goes forward stays there, so that it is back from
		// there that it goes next: generators keep the latest time that they were told, and no restore may find them ahead of the store's.
		offset := r.magnitude(time.Millisecond, 2*tortureFor)
		if r.random.IntN(3) == 0 {
			r.clock.base.Add(int64(offset))
		} else {
			r.clock.offset.Store(-int64(min(offset, time.Since(r.floor))))
			r.right = time.Now().Add(r.between(100*time.Millisecond, tortureFor))
		}
	case faultRestore, faultRestoreEnded:
		from, ok := r.pick()
		if !ok {
			return false
		}
		if fault == faultRestore {
			r.restore(from)
		} else {
			r.restoreEnded(from)
		}
	case faultDelete:
		if r.deleted > 0 {
			return false // as long as numbers are renewed, those without a row are not granted any more
		}
		r.deleteRow()
	case faultDrop:
		r.drop()
	case faultReopen:
		for _, c := range r.running {
			c.tell("reopen")
		}
	default:
		if c.stopped || stopped >= len(r.running)/2 {
			return false
		}
		switch fault {
		case faultStop:
			c.stop(r.magnitude(5*time.Millisecond, time.Second))
		case faultStopLong:
			c.stop(r.between(tortureFor, 2*tortureFor))
		case faultForward, faultBack:
			step := r.magnitude(time.Millisecond, time.Hour)
			if fault == faultBack {
				step = -step
			}
			c.tell("step %s", step)
			c.right = time.Now().Add(r.between(100*time.Millisecond, 2*tortureFor))
		case faultFreeze:
			c.tell("freeze %s", r.magnitude(10*time.Millisecond, 2*tortureFor))
		case faultClone:
			c.tell("clone")
		case faultEnd:
			r.end(c)
			r.running[i] = r.start(r.slight())
		}
	}
	r.did(fault)
	return true
}

// hurtServer kills and pauses the server until the channel is closed, once each at least. When it returns, the server answers.
func (r *torture) hurtServer(random *rand.Rand, end <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-end:
			if i >= 2 {
				return nil
			}
		case <-time.After(between(random, time.Second, 4*time.Second)):
		}
		var err error
		if i == 0 || i > 1 && random.IntN(2) == 0 {
			err = r.server.Kill()
			time.Sleep(between(random, 0, time.Second))
			err = errors.Join(err, r.server.Start())
			r.did(faultServerKill)
		} else {
			err = r.server.Pause()
			time.Sleep(between(random, 50*time.Millisecond, tortureFor*3/2))
			err = errors.Join(err, r.server.Resume())
			r.did(faultServerPause)
		}
		if err != nil {
			return err
		}
	}
}

// run does all faults for a time, and then sees whether all goes well without any.
func (r *torture) run(duration time.Duration) {
	t := r.t
	cleanUp := r.startAll()
	defer cleanUp()
	wanted := slices.Compact(slices.Sorted(slices.Values(tortureFaults)))
	end, ended := make(chan struct{}), make(chan struct{})
	var serverErr error // to be read when ended is closed
	if r.server == nil {
		close(ended)
	} else {
		wanted = append(wanted, faultServerKill, faultServerPause)
		random := rand.New(rand.NewPCG(r.random.Uint64(), 0))
		go func() {
			defer close(ended)
			serverErr = r.hurtServer(random, end)
		}()
	}
	stopServer := sync.OnceFunc(func() { close(end) })
	defer func() {
		stopServer()
		<-ended
	}()
	// All of them first, in some order, and then at random.
	first := slices.Clone(tortureFaults)
	r.random.Shuffle(len(first), func(i, j int) { first[i], first[j] = first[j], first[i] })
	deadline := time.Now().Add(duration)
	for time.Now().Before(deadline) || len(first) > 0 || !r.cloned() && time.Now().Before(deadline.Add(torturePatience)) {
		r.rest(r.magnitude(20*time.Millisecond, 500*time.Millisecond))
		if time.Now().After(r.nextCopy) {
			r.takeCopy()
			r.nextCopy = time.Now().Add(r.between(tortureCopyEvery/2, tortureCopyEvery*3/2))
		}
		switch {
		case len(first) == 0 && time.Now().After(deadline):
			r.hurt(faultClone)
		case len(first) == 0:
			r.hurt(tortureFaults[r.random.IntN(len(tortureFaults))])
		case r.hurt(first[0]):
			first = first[1:]
		default:
			first = append(first[1:], first[0]) // later
		}
	}
	stopServer()
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		default:
			r.rest(20 * time.Millisecond)
		}
	}
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	hurting := time.Since(r.began)
	r.calm()
	for _, c := range r.running {
		_ = c.stdin.Close()
	}
	for _, c := range r.running {
		r.end(c)
	}
	r.session("listing losses", r.recordedLosses)
	r.mu.Lock()
	for loss := range r.recorded {
		r.doubts.add(&r.doubts.told, loss.number, loss.tickRange)
	}
	r.doubts.merge()
	r.mu.Unlock()
	rows, overlaps := r.verify()
	r.mu.Lock()
	defer r.mu.Unlock()
	verdict := r.judge()
	r.tell(rows, len(overlaps), hurting, verdict)
	for _, text := range verdict.examples[:min(5, len(verdict.examples))] {
		t.Error(text)
	}
	if r.clones == 0 {
		t.Errorf("no keeper was cloned, although processes were told to")
	}
	if among := verdict.told + verdict.untold; duration >= time.Minute && (verdict.twins == 0 || among == verdict.twins) {
		t.Errorf("%d ids came twice of keepers that were cloned, and %d after the table was restored; would one be noticed?", verdict.twins, among-verdict.twins)
	}
	if sum, all := length(r.doubts.told)+length(r.doubts.untold), time.Since(r.began)<<r.bits; sum > all/2 {
		t.Errorf("%s of all numbers' %s are in doubt; that is no doubt any more", sum, all)
	}
	for _, v := range r.violations {
		t.Errorf("%s: %s", v.Kind, v.Text)
	}
	for _, text := range overlaps[:min(5, len(overlaps))] {
		t.Error(text)
	}
	for _, fault := range wanted {
		if r.faults[fault] == 0 {
			t.Errorf("none was %s", fault)
		}
	}
	if rows < tortureLeast || r.total.Stored > rows {
		t.Errorf("the table has %d rows, want at least %d, and the %d that were inserted", rows, tortureLeast, r.total.Stored)
	}
}

// cloned reports whether a keeper has been cloned: those that are told to may be killed before they are.
func (r *torture) cloned() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clones > 0
}

// calm ends all faults, and waits until each process has made ids with a grant that was acquired or renewed after that.
func (r *torture) calm() {
	r.t.Helper()
	r.clock.offset.Store(0)
	if r.deleted > 0 {
		r.drop() // of the numbers without rows some will be needed
	}
	began := time.Now()
	renewed := began.Add(tortureFor + tortureMaxSkew)
	before := make([]int64, len(r.running)) // that a process has told of by then
	for i, c := range r.running {
		c.until, c.right = began, began
		c.tell("right")
		c.tell("keep")
		before[i] = -1
	}
	for deadline := time.Now().Add(torturePatience); ; {
		r.rest(50 * time.Millisecond)
		var stuck []*tortureChild
		for i, c := range r.running {
			report, spoken := c.last()
			if before[i] < 0 && spoken.After(renewed) {
				before[i] = report.Stored
			}
			if before[i] < 0 || report.Stored <= before[i] {
				stuck = append(stuck, c)
			}
		}
		if len(stuck) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, c := range stuck {
				report, _ := c.last()
				r.t.Errorf("process %d makes no ids although all is well: %+v", c.number, report)
			}
			return
		}
	}
}

// untilDuplicate stops and resumes processes until an id comes twice.
func (r *torture) untilDuplicate() {
	t := r.t
	defer r.startAll()()
	found := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.duplicates) > 0
	}
	for deadline := time.Now().Add(torturePatience); !found() && time.Now().Before(deadline); {
		r.rest(r.between(20*time.Millisecond, 200*time.Millisecond))
		if c := r.running[r.random.IntN(len(r.running))]; !c.stopped {
			c.stop(r.between(leaseFor*3/2, 3*leaseFor))
			r.did(faultStopLong)
		}
	}
	if !found() {
		t.Errorf("no id came twice although numbers were leased, %d processes stopped for longer than that, and resumed; would one be noticed?",
			r.faults[faultStopLong])
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("after %s, with %d processes stopped for longer than their lease: %s", time.Since(r.began).Round(time.Millisecond),
		r.faults[faultStopLong], r.duplicates[0].Text)
}

// verify reads all ids that are not in doubt, in their order. Those of one grant of a number must not lie between those of another, nor share a tick with them.
// That is more than to differ: two who had a number at the same time and made different ids by luck are found too.
func (r *torture) verify() (total int64, overlaps []string) {
	t := r.t
	t.Helper()
	db := r.database.Open(t)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT id, pid FROM ids ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	layout := tortureLayout(r.bits)
	type use struct {
		pid  string
		at   time.Time // of its last id
		left map[string]bool
	}
	uses := map[int64]*use{}
	for rows.Next() {
		var id int64
		var pid string
		if err := rows.Scan(&id, &pid); err != nil {
			t.Fatal(err)
		}
		parts, err := layout.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		total++
		r.mu.Lock()
		tick := int64(parts.Time.Sub(layout.Epoch()) / layout.Unit())
		doubtful := has(r.doubts.told, parts.Node, tick) || has(r.doubts.untold, parts.Node, tick)
		r.mu.Unlock()
		if doubtful {
			continue
		}
		u := uses[parts.Node]
		if u == nil {
			u = &use{pid: pid, left: map[string]bool{}}
			uses[parts.Node] = u
		}
		if u.pid != pid {
			if u.at.Equal(parts.Time) || u.left[pid] {
				r.mu.Lock()
				overlaps = append(overlaps, fmt.Sprintf("number %d: grant %s has ids of %s, in or before which grant %s has some; in doubt are from there the number's ticks %s",
					parts.Node, pid, parts.Time.Format(time.RFC3339Nano), u.pid, r.near(parts.Node, tick)))
				r.mu.Unlock()
			}
			u.left[u.pid] = true
			u.pid = pid
		}
		u.at = parts.Time
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return total, overlaps
}

// tell logs what has happened. The caller holds mu.
func (r *torture) tell(rows int64, overlaps int, hurting time.Duration, verdict tortureVerdict) {
	list := func(counts map[string]int64) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
		}
		return strings.Join(parts, ", ")
	}
	faults := map[string]int64{}
	for name, n := range r.faults {
		faults[name] = int64(n)
	}
	line := fmt.Sprintf("torture %-8s %s: %d ids (%.0f/s), %d twice outside of doubt, %d twice in doubt and %d with nobody left to tell (%d of both by twins),"+
		" %d not granted, %d overlaps, %d lost with failed inserts"+
		" | %d losses told, %d recorded, %d keepers ended before they noticed; in doubt are %s of numbers, and %s with nobody left to tell"+
		" | %d processes, %d keepers, %d clones, %d numbers lost | faults: %s | errors: %s",
		r.database.Kind, time.Since(r.began).Round(time.Second), rows, float64(rows)/hurting.Seconds(), verdict.wrong, verdict.told, verdict.untold, verdict.twins,
		r.violated["outside"], overlaps, r.total.Made-r.total.Stored,
		r.losses, len(r.recorded), r.unheard, length(r.doubts.told).Round(time.Second), length(r.doubts.untold).Round(time.Second),
		r.started, r.total.Opened, r.clones, r.total.Lost, list(faults), list(r.total.Errors))
	r.t.Log(line)
	if os.Getenv(tortureVariable) != "" {
		fmt.Println(line)
		for _, class := range slices.Sorted(maps.Keys(r.total.Examples)) {
			r.t.Logf("%s: %s", class, r.total.Examples[class])
		}
	}
}
