package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/distlock-go/distlock/redlock"
)

// deaths are the ways in which a node ends to answer, and how it comes back.
var deaths = []struct {
	name      string
	end, mend func(*servers.Server, context.Context) error
}{
	{"hung", (*servers.Server).Pause, (*servers.Server).Resume},
	{"down", (*servers.Server).Stop, (*servers.Server).Start},
}

// Stands for: one closed port adds 100 ms and one frozen node 5 s to each acquire and
// release; or a lease ends because a minority cannot be reached.
func TestRedlockDeadMinorityCostsNothing(t *testing.T) {
	t.Parallel()
	for _, d := range deaths {
		for n := 1; n <= 2; n++ {
			t.Run(fmt.Sprintf("%d %s", n, d.name), func(t *testing.T) {
				t.Parallel()
				m := masters(t, servers.Redis)
				locks := locksOver(t, m, redlock.Options{Fenced: n == 1}, distlock.WithTTL(6*time.Second))
				held := acquire(t, locks, "held")
				onEach(t, m.Nodes[:n], d.end)
				goAround(t, locks)
				goAround(t, locksOver(t, m, redlock.Options{Fenced: n == 1})) // that has never met them
				throughout(t, 8*time.Second, "the lease is renewed", held.Valid)
				release(t, held)
				onEach(t, m.Nodes[:n], d.mend)
				goAround(t, locks)
			})
		}
	}
}

// goAround acquires and releases a few keys, each before a dead node is given up.
func goAround(t *testing.T, locks *distlock.Client) {
	t.Helper()
	var took durations
	for i := range 30 {
		start := time.Now()
		l := acquire(t, locks, fmt.Sprint("key", i))
		if !l.Valid() {
			t.Error("the lease is not valid")
		}
		release(t, l)
		took = append(took, time.Since(start))
	}
	for _, d := range took[1:] { // the first one meets the nodes
		if d >= patient {
			t.Errorf("it took %v, want less than the time-out of a node", d)
		}
	}
	t.Logf("acquire and release: %v", took)
}

// Stands for: a client that waits for seconds, or says no more than "failed", when
// there is no majority; or one that does not recover.
func TestRedlockWithoutMajorityFailsAndNamesTheNodes(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			m := masters(t, servers.Redis)
			locks := locksOver(t, m, redlock.Options{NodeTimeout: timeout}, distlock.WithTTL(2*time.Second))
			held := acquire(t, locks, "held")
			onEach(t, m.Nodes[:3], d.end)
			var err error
			for range 3 {
				took := timed(func() { _, err = locks.TryAcquire(within(t, bound), "other") })
				t.Logf("after %v: %v", took, err)
				if err == nil || errors.Is(err, distlock.ErrHeld) || isContextError(err) {
					t.Fatalf("got %v, want an error of the nodes", err)
				}
				for _, n := range m.Nodes[:3] {
					if !strings.Contains(err.Error(), n.Addr()) {
						t.Errorf("got %v, want %s named", err, n.Addr())
					}
				}
				if took > timeout+time.Second { // of which the second is the machine's
					t.Errorf("it took %v, want %v", took, timeout)
				}
			}
			if d.name == "down" {
				eventually(t, bound, "the error is the nodes'", func() bool {
					_, err := locks.TryAcquire(within(t, bound), "other")
					return errors.Is(err, syscall.ECONNREFUSED)
				})
			}
			eventually(t, 4*time.Second, "the lease is lost", func() bool { return errors.Is(held.Err(), distlock.ErrLost) })
			onEach(t, m.Nodes[:3], d.mend)
			eventually(t, bound, "it works again", func() bool {
				l, err := locks.TryAcquire(within(t, bound), "other")
				if err == nil {
					release(t, l)
				}
				return err == nil
			})
		})
	}
}

// Stands for: what a node that was frozen has granted meanwhile blocks the key for a
// whole lifetime when it is back.
func TestRedlockLateGrantsAreUndone(t *testing.T) {
	t.Parallel()
	m := masters(t, servers.Redis)
	nodes := dialAll(t, m)
	locks := locksOver(t, m, redlock.Options{NodeTimeout: 300 * time.Millisecond}, distlock.WithTTL(time.Hour))
	goAround(t, locks)
	onEach(t, m.Nodes[:3], (*servers.Server).Pause)
	if l, err := locks.TryAcquire(within(t, bound), t.Name()); err == nil {
		t.Fatalf("got %v, want no lease", l)
	}
	onEach(t, m.Nodes[:3], (*servers.Server).Resume) // now they carry it out
	eventually(t, bound, "no node has it", func() bool { return having(t, nodes, t.Name()) == 0 })
	throughout(t, time.Second, "no node has it", func() bool { return having(t, nodes, t.Name()) == 0 })
}
