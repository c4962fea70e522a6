package faults_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// judge checks what a cell promises of a key that has gone from old to next, which was
// granted at in.
func (c cell) judge(t *testing.T, old, next *distlock.Lease, in time.Time) {
	t.Helper()
	if early := old.Deadline().Sub(in); c.holds == kept && early > 0 && !isReleased(old.Err()) {
		t.Errorf("the next holder was in %v before the deadline", early)
	} else if c.holds != kept && early <= 0 {
		t.Errorf("it came to no harm: the next holder was in %v after the deadline", -early)
	}
	if c.holds == limited {
		if next.Token() > old.Token() {
			t.Errorf("got token %v after %v: what the documentation warns of does not show", next.Token(), old.Token())
		}
		return
	}
	checkFence(t, old.Key(), old.Token(), next.Token())
}

// replaced lets a client of its own get the key of old, and judges how.
func replaced(t *testing.T, s *service, f fleet, c cell, old *distlock.Lease) {
	t.Helper()
	next := insist(t, s.locks(t, f.addrs()), old.Key())
	c.judge(t, old, next, time.Now())
	if err := old.Release(t.Context()); !isLost(err) && !isReleased(err) {
		t.Errorf("got %v from Release of what is gone, want ErrLost", err)
	}
	staysHeld(t, s, f, next)
	release(t, next)
}

// staysHeld checks that l is the key's for another moment, whatever the old holder did.
func staysHeld(t *testing.T, s *service, f fleet, l *distlock.Lease) {
	t.Helper()
	if got, err := s.locks(t, f.addrs()).TryAcquire(within(t, bound), l.Key()); err == nil {
		t.Errorf("another got the key beside the new holder, with token %v", got.Token())
	}
	if err := l.Err(); err != nil {
		t.Errorf("the new holder's lease has ended: %v", err)
	}
}

// Stands for: an operator, a clean-up job or another program deletes the lock, somebody
// else gets it, and the two have tokens in the wrong order; or the old one's release frees
// the new one's lock.
func TestDeletedLock(t *testing.T) {
	t.Parallel()
	forBackends(t, lockDeleted, func(t *testing.T, s *service, c cell) {
		f := s.healthy(t)
		old := insist(t, s.locks(t, f.addrs()), keyOf(t))
		s.admin(t, f).deleteLock(old.Key())
		replaced(t, s, f, c, old)
	})
}

// Stands for: tokens that begin anew when what they are counted by is deleted.
func TestDeletedCounter(t *testing.T) {
	t.Parallel()
	forBackends(t, counterDeleted, func(t *testing.T, s *service, c cell) {
		f := s.healthy(t)
		locks := s.locks(t, f.addrs())
		for range 3 {
			release(t, insist(t, locks, keyOf(t)))
		}
		old := insist(t, locks, keyOf(t))
		s.admin(t, f).deleteCounter(old.Key())
		if c.holds == kept { // it holds the lock all the same
			staysHeld(t, s, f, old)
			release(t, old)
		}
		replaced(t, s, f, c, old)
	})
}

// Stands for: an operator ends the session or connection that a lock lives on, and its
// holder is not told, or the next one has the same token.
func TestEndedSession(t *testing.T) {
	t.Parallel()
	forBackends(t, sessionEnded, func(t *testing.T, s *service, c cell) {
		f := s.healthy(t)
		old := insist(t, s.locks(t, f.addrs()), keyOf(t))
		s.admin(t, f).endSession(old.Key())
		replaced(t, s, f, c, old)
		eventually(t, bound, "the holder is told", func() bool { return isClosed(old.Done()) })
	})
}
