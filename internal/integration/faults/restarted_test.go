package faults_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: a server that was frozen lets a holder go on, when it continues, whose lease
// has ended; or carries out what nobody counts on any more, on the next one's lock.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	forBackends(t, serverPaused, func(t *testing.T, s *service, c cell) {
		f := s.own(t)
		old := insist(t, s.locks(t, f.addrs(), distlock.WithTTL(shortTTL)), keyOf(t))
		w := waitFor(t, s, f.addrs(), old.Key())
		f.each(t, (*servers.Server).Pause)
		select {
		case <-old.Done():
		case <-time.After(bound):
			t.Errorf("the holder is not told, %v after its deadline", time.Since(old.Deadline()))
		}
		pause(shortTTL) // there are renewals and releases on their way now
		f.each(t, (*servers.Server).Resume)
		next := w.take(t, 4*bound)
		c.judge(t, old, next, time.Now())
		staysHeld(t, s, f, next)
		if err := old.Err(); !isLost(err) {
			t.Errorf("got %v of the old lease, want ErrLost", err)
		}
		release(t, next)
	})
}

// lifeTTL is that of leases which are to outlive the restart of a server, on a machine
// that takes its time: the longest that the service takes, or long enough.
func (s *service) lifeTTL() distlock.Option {
	if s.name == "zookeeper" {
		return distlock.WithTTL(40 * time.Second)
	}
	return distlock.WithTTL(10 * time.Minute)
}

// Stands for: locks or tokens that do not survive a crash of the server which has all its
// data; and a client that is of no use after it.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	forBackends(t, serverRestarted, func(t *testing.T, s *service, c cell) {
		untilStruck(t, func(int) bool {
			f := s.own(t)
			old := insist(t, s.locks(t, f.addrs(), s.lifeTTL()), keyOf(t))
			w := waitFor(t, s, f.addrs(), old.Key())
			f.each(t, (*servers.Server).Kill, (*servers.Server).Start)
			if !old.Valid() && c.holds == kept {
				return false
			}
			if c.holds == kept {
				throughout(t, 2*time.Second, "only the holder has it", func() bool { return len(w.result) == 0 || !old.Valid() })
				release(t, old)
			}
			next := w.take(t, 4*bound)
			return handedOver(t, s, f, c, old, next)
		})
	})
}

// Stands for: a server that has lost its data hands out tokens again which others have,
// where the documentation says that it does not.
func TestServerThatLostItsData(t *testing.T) {
	t.Parallel()
	forBackends(t, dataLost, func(t *testing.T, s *service, c cell) {
		untilStruck(t, func(int) bool {
			f := s.own(t)
			locks := s.locks(t, f.addrs(), s.lifeTTL())
			old := insist(t, locks, keyOf(t))
			for range 40 { // more than a server writes by itself when it is new
				release(t, old)
				old = insist(t, locks, keyOf(t))
			}
			f.each(t, (*servers.Server).StartEmpty)
			return handedOver(t, s, f, c, old, insist(t, s.locks(t, f.addrs()), old.Key()))
		})
	})
}

// handedOver judges how a key has gone from old to next, just now. It returns false if old
// had ended by itself before a fault could let another in.
func handedOver(t *testing.T, s *service, f fleet, c cell, old, next *distlock.Lease) bool {
	t.Helper()
	defer release(t, next)
	in := time.Now()
	if c.holds != kept && in.After(old.Deadline()) {
		return false
	}
	c.judge(t, old, next, in)
	if err := old.Release(t.Context()); err == nil {
		t.Error("got nil from Release of what is gone, want an error")
	}
	staysHeld(t, s, f, next)
	return true
}
