package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
)

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
			next := insist(t, locks, t.Name())
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

// Stands for: an extension that reached the server late revived a lock that had expired
// and that another had; or a late delete took the next one's lock away.
func TestRequestsDeliveredLateTouchNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault fault
		send  func(*distlock.Lease)
	}{
		{renewalLate, func(*distlock.Lease) {}},
		{releaseLate, func(l *distlock.Lease) { _ = l.Release(context.Background()) }},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			forBackends(t, c.fault, func(t *testing.T, s *service, _ cell) {
				f := s.healthy(t)
				link := f.link(t)
				old := insist(t, s.locks(t, link.addrs(), distlock.WithTTL(shortTTL)), keyOf(t))
				link.set(proxy.Hold, proxy.Pass)
				before := link.pending()
				go c.send(old) // ends with its own bound
				eventually(t, bound, "a request is on its way", func() bool { return link.pending() > before })
				next := insist(t, s.locks(t, f.addrs()), old.Key())
				link.set(proxy.Pass, proxy.Pass)
				throughout(t, time.Second, "the next lease lives on", next.Valid)
				staysHeld(t, s, f, next)
				if err := old.Err(); old.Valid() || err == nil {
					t.Errorf("got %v, want a lease that stays lost", err)
				}
				checkFence(t, old.Key(), old.Token(), next.Token())
				release(t, next)
			})
		})
	}
}
