package faults_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	goredis "github.com/redis/go-redis/v9"
)

// goroutines returns the stacks of the process's goroutines by their ids. Those of
// proxies are left out: each connection that a pool keeps has five of them.
func goroutines() map[string]string {
	text := make([]byte, 1<<20)
	for n := runtime.Stack(text, true); n == len(text); n = runtime.Stack(text, true) {
		text = make([]byte, 2*n)
	}
	all := make(map[string]string)
	for _, stack := range strings.Split(strings.TrimRight(string(text), "\x00\n"), "\n\n") {
		if !strings.Contains(stack, "/internal/integration/proxy.") {
			id, _, _ := strings.Cut(stack, " [")
			all[id] = stack
		}
	}
	return all
}

// checkEnded fails the test with the stacks of the goroutines that are still there
// after d and were not before.
func checkEnded(t *testing.T, d time.Duration, before map[string]string) {
	t.Helper()
	var left map[string]string
	for end := time.Now().Add(d); time.Now().Before(end); pause(20 * time.Millisecond) {
		left = goroutines()
		maps.DeleteFunc(left, func(id, _ string) bool { return before[id] != "" })
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("%d goroutines are still there after %v:\n%s", len(left), d,
		strings.Join(slices.Sorted(maps.Values(left)), "\n\n"))
}

// Stands for: goroutines that wait for ever for a server that came back long ago, one
// for each call that was made while it was away.
func TestGoroutinesEndOnceTheServerAnswersAgain(t *testing.T) {
	// Not parallel: it looks at the process's goroutines.
	patient := goredis.Options{ReadTimeout: -1, WriteTimeout: -1} // has no time-outs of its own
	hung := []struct {
		*wire
		back func(*wire) // lets the server answer again
	}{
		{newWire(t, distlock.WithTTL(time.Second)), (*wire).restore},
		{newWire(t, distlock.WithTTL(time.Second)), (*wire).reroute}, // what hangs is never told
		{newWireOf(t, patient, distlock.WithTTL(time.Second)), (*wire).reroute},
	}
	before := goroutines()
	for i, w := range hung {
		prefix := fmt.Sprint(t.Name(), i)
		leases := acquireMany(t, w.locks, prefix, 20)
		w.link.Set(proxy.Swallow, proxy.Swallow)
		for _, l := range leases[:5] {
			go l.Release(within(t, 2*bound)) //nolint:errcheck // it is the goroutine that counts
		}
		for j := range 40 {
			_, _ = w.locks.Acquire(within(t, 10*time.Millisecond), fmt.Sprint(prefix, "-other-", j))
		}
		eventually(t, 5*time.Second, "the leases are lost", func() bool { return isClosed(leases[19].Done()) })
	}
	for _, w := range hung {
		w.back(w.wire)
	}
	checkEnded(t, bound, before)
	for i, w := range hung {
		release(t, insist(t, w.locks, fmt.Sprint(t.Name(), i)))
	}
}
