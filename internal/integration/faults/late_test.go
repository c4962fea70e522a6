package faults_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// Stands for: an extension that reached the server late revived a lock that had expired
// and that another had held in between.
func TestRenewalDeliveredAfterTheDeadlineRevivesNothing(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	for _, c := range []struct {
		name string
		next bool // whether there is a next holder when it is delivered
	}{
		{"at the deadline", false},
		{"to the next holder", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, distlock.WithTTL(ttl))
			l := acquire(t, w.locks, t.Name())
			w.link.Set(proxy.Hold, proxy.Pass)
			eventually(t, ttl, "a renewal is on its way", func() bool { return w.link.Stats().Requests.Pending() > 0 })
			<-l.Done()
			var next *distlock.Lease
			if c.next {
				next = acquire(t, locksAt(t, w.server.Addr()), t.Name())
			}
			before := w.value(t.Name())
			w.restore()
			eventually(t, bound, "what was held has arrived", func() bool { return w.link.Stats().Requests.Pending() == 0 })
			if !c.next {
				eventually(t, time.Second, "nothing of it is left", func() bool { return w.value(t.Name()) == "" })
			} else {
				throughout(t, time.Second, "the next lease is as it was", func() bool { return w.value(t.Name()) == before })
				release(t, next)
			}
			if err := l.Err(); l.Valid() || err == nil {
				t.Errorf("got %v, want a lease that stays lost", err)
			}
		})
	}
}

// Stands for: the delete of an old unlock was delivered late, when the same owner or
// another had locked again, and took the newer lock away.
func TestReleaseDeliveredLateSparesTheNewerLease(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		name := "of another client"
		if own {
			name = "of the same client"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			old := acquire(t, w.locks, t.Name())
			w.link.Set(proxy.Hold, proxy.Pass)
			result := make(chan error, 1)
			go func() { result <- old.Release(t.Context()) }()
			eventually(t, bound, "the release is on its way", func() bool { return w.link.Stats().Requests.Pending() > 0 })
			if err := w.direct.Del(t.Context(), lockName(t.Name())).Err(); err != nil {
				t.Fatal(err)
			}
			locks := w.locks
			w.reroute()
			if !own {
				locks = locksAt(t, w.server.Addr())
			}
			next := acquire(t, locks, t.Name())
			before := w.value(t.Name())
			w.restore()
			err := <-result
			throughout(t, time.Second, "the newer lease is there", func() bool { return w.value(t.Name()) == before })
			if next.Token() <= old.Token() {
				t.Errorf("got token %v after %v", next.Token(), old.Token())
			}
			t.Logf("the old release: %v", err)
			release(t, next)
		})
	}
}
