package locktest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// CaseNames are the names of all rows.
func CaseNames() []string {
	var names []string
	for _, c := range allCases() {
		names = append(names, c.name)
	}
	return names
}

// Plan returns the names of the rows that Run would run, and what it would say
// of the others.
func Plan(t *testing.T, h Harness) (run, out []string) {
	_, cases, out := prepare(t, h)
	for _, c := range cases {
		run = append(run, c.name)
	}
	return run, out
}

// Failures runs the suite as Run does, or only the named rows, and returns what
// the rows that failed have to say, by name, where Run would fail t.
func Failures(t *testing.T, h Harness, only ...string) map[string]string {
	h, cases, _ := prepare(t, h)
	cases = slices.DeleteFunc(cases, func(c testCase) bool { return len(only) > 0 && !slices.Contains(only, c.name) })
	var mu sync.Mutex
	failures := make(map[string]string)
	schedule(cases, h.Parallel, func(c testCase) {
		r := newRecorder(t)
		start := time.Now()
		r.run(func() { c.check(r, &h) })
		if r.Failed() {
			mu.Lock()
			r.Logf("after %v", time.Since(start).Round(time.Millisecond))
			failures[c.name] = strings.Join(r.said, "\n")
			mu.Unlock()
		}
	})
	return failures
}

// A recorder is a testing.TB whose failures are its own.
type recorder struct {
	testing.TB
	ctx context.Context
	end context.CancelFunc

	mu       sync.Mutex // guards all below
	failed   bool
	skipped  bool
	said     []string
	cleanups []func()
}

func newRecorder(t testing.TB) *recorder {
	ctx, end := context.WithCancel(context.Background())
	return &recorder{TB: t, ctx: ctx, end: end}
}

// run calls f in a goroutine, which FailNow and SkipNow end, and cleans up.
func (r *recorder) run(f func()) {
	done := make(chan struct{})
	go func() { // ends with f
		defer close(done)
		f()
	}()
	<-done
	r.end()
	for last := r.lastCleanup(); last != nil; last = r.lastCleanup() {
		last()
	}
}

// lastCleanup takes the last of the functions given to Cleanup that is left.
func (r *recorder) lastCleanup() func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.cleanups) - 1
	if n < 0 {
		return nil
	}
	last := r.cleanups[n]
	r.cleanups = r.cleanups[:n]
	return last
}

func (r *recorder) note(failed bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.said = append(r.said, text)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Skipped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped
}

func (r *recorder) SkipNow() {
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	r.cleanups = append(r.cleanups, f)
	r.mu.Unlock()
}

func (r *recorder) Context() context.Context       { return r.ctx }
func (r *recorder) Helper()                        {}
func (r *recorder) Log(args ...any)                { r.note(false, fmt.Sprint(args...)) }
func (r *recorder) Logf(format string, a ...any)   { r.note(false, fmt.Sprintf(format, a...)) }
func (r *recorder) Fail()                          { r.note(true, "failed") }
func (r *recorder) FailNow()                       { r.Fail(); runtime.Goexit() }
func (r *recorder) Error(args ...any)              { r.note(true, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, a ...any) { r.note(true, fmt.Sprintf(format, a...)) }
func (r *recorder) Fatal(args ...any)              { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, a ...any) { r.Errorf(format, a...); runtime.Goexit() }
func (r *recorder) Skip(args ...any)               { r.Log(args...); r.SkipNow() }
func (r *recorder) Skipf(format string, a ...any)  { r.Logf(format, a...); r.SkipNow() }
