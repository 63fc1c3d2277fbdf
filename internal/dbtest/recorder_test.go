package dbtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test that keeps what happens to it, for tests of failing tests.
type recorder struct {
	testing.TB // for what is not overridden

	failed, skipped bool
	messages        strings.Builder
	cleanups        []func()
}

// record runs f as a test, with its cleanups.
func record(t *testing.T, f func(testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	r.do(func() { f(r) })
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		r.do(last)
	}
	return r
}

// do calls f on a goroutine that FailNow and SkipNow may end.
func (r *recorder) do(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *recorder) Helper()          {}
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Skipped() bool    { return r.skipped }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fail()            { r.failed = true }

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

func (r *recorder) SkipNow() {
	r.skipped = true
	runtime.Goexit()
}

func (r *recorder) Log(args ...any)                 { fmt.Fprintln(&r.messages, args...) }
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.messages, format+"\n", args...) }

func (r *recorder) Error(args ...any)                 { r.Log(args...); r.Fail() }
func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }
func (r *recorder) Fatal(args ...any)                 { r.Log(args...); r.FailNow() }
func (r *recorder) Fatalf(format string, args ...any) { r.Logf(format, args...); r.FailNow() }
func (r *recorder) Skip(args ...any)                  { r.Log(args...); r.SkipNow() }
func (r *recorder) Skipf(format string, args ...any)  { r.Logf(format, args...); r.SkipNow() }
