package etcd_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

func TestRevokedLeaseIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client(distlock.WithTTL(time.Minute))
	l := s.acquire(c, "job")
	s.eventually("the session's marker", func() bool { return len(s.keys("%session/")) == 1 })
	if _, err := s.admin.Revoke(s.ctx, s.leaseOf(s.keys("job/")[0])); err != nil {
		t.Fatal(err)
	}
	took := s.ends(l, 5*time.Second)
	t.Logf("told after %v", took)
	if took > time.Second {
		t.Errorf("the end of a lease was told after %v", took)
	}
	again := s.acquire(c, "job")
	if again.Token() <= l.Token() {
		t.Errorf("tokens: %v after %v", again.Token(), l.Token())
	}
	s.release(again)
}

func TestDeletedKeyIsFoundByTheNextRenewal(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client(distlock.WithTTL(3 * time.Second))
	var kept []*distlock.Lease
	for i := range 20 {
		kept = append(kept, s.acquire(c, fmt.Sprint("kept/", i)))
	}
	l := s.acquire(c, "job")
	if _, err := s.admin.Delete(s.ctx, s.keys("job/")[0]); err != nil {
		t.Fatal(err)
	}
	if took := s.ends(l, 3*time.Second); took > 1500*time.Millisecond {
		t.Errorf("a deleted key was found after %v, a renewal is due each second", took)
	}
	if err := l.Release(s.ctx); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("Release after it: got %v, want ErrLost", err)
	}
	for _, k := range kept {
		if k.Err() != nil {
			t.Errorf("another lease of the session: %v", k.Err())
		}
	}
}

func TestKeyThatWasWrittenOverIsTakenAnew(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client(distlock.WithTTL(3 * time.Second))
	l := s.acquire(c, "job")
	if _, err := s.admin.Put(s.ctx, s.keys("job/")[0], "stray"); err != nil { // takes its lease away
		t.Fatal(err)
	}
	s.ends(l, 3*time.Second)
	again, err := c.TryAcquire(s.ctx, "job")
	if err != nil {
		t.Fatal(err)
	}
	if again.Token() <= l.Token() {
		t.Errorf("got token %v after %v", again.Token(), l.Token())
	}
	s.release(again)
	if left := s.keys("job/"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestQuickSessionsAreNotLost(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	cli := dial(t)
	for range 100 {
		c := s.clientOn(cli, distlock.WithTTL(2*time.Second))
		l := s.acquire(c, "job")
		if err := l.Err(); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if left := s.keys(""); len(left) > 0 {
		t.Errorf("closed clients left %q", left)
	}
}
