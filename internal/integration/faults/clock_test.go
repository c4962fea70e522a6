package faults_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// bound is how long a test waits for what must happen, where the promise is not about
// time.
const bound = 30 * time.Second

// within returns a context that ends after d or with the test.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls condition until it holds, and ends the test if it does not within d.
func eventually(t testing.TB, d time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !condition(); pause(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", d, what)
		}
	}
}

// throughout polls condition for d, and ends the test if it ceases to hold.
func throughout(t testing.TB, d time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); pause(10 * time.Millisecond) {
		if !condition() {
			t.Fatalf("no longer: %s", what)
		}
	}
}

// pause is the one wait of this package that is not for an event.
func pause(d time.Duration) { <-time.After(d) }

// isClosed reports whether a signal was given.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// durations are measured times.
type durations []time.Duration

// String tells the median and the extreme.
func (d durations) String() string {
	if len(d) == 0 {
		return "none"
	}
	s := slices.Sorted(slices.Values(d))
	return fmt.Sprintf("p50 %v, p99 %v, max %v (%d)", s[len(s)/2].Round(time.Microsecond),
		s[len(s)*99/100].Round(time.Microsecond), s[len(s)-1].Round(time.Microsecond), len(s))
}

// A sentinel is a timer that is watched to see when the machine itself stalls: the
// library's timers are then late for no fault of theirs.
type sentinel struct {
	mu     sync.Mutex // guards stalls
	stalls []stall
}

// A stall is a time during which no timer fired that should have.
type stall struct{ from, to time.Time }

// tolerated is how late the sentinel may be without it being a stall.
const tolerated = 4 * time.Millisecond

// watchMachine starts a sentinel that watches until the test ends.
func watchMachine(t testing.TB) *sentinel { return watchUntil(t, t.Context()) }

// watchUntil starts a sentinel that watches until ctx ends, which must be with the test.
func watchUntil(t testing.TB, ctx context.Context) *sentinel {
	s := &sentinel{}
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for last := time.Now(); ctx.Err() == nil; {
			pause(time.Millisecond)
			now := time.Now()
			if now.Sub(last) > time.Millisecond+tolerated {
				s.mu.Lock()
				s.stalls = append(s.stalls, stall{last, now})
				s.mu.Unlock()
			}
			last = now
		}
	})
	t.Cleanup(watcher.Wait) // the context of the test ends before
	return s
}

// stalled reports whether the machine stalled at some time between from and to.
func (s *sentinel) stalled(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.stalls, func(x stall) bool {
		return x.from.Before(to) && x.to.After(from)
	})
}

// stalledFor returns for how long the machine stalled between from and to.
func (s *sentinel) stalledFor(from, to time.Time) (total time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.stalls {
		if x.from.Before(to) && x.to.After(from) {
			total += x.to.Sub(x.from)
		}
	}
	return total
}
