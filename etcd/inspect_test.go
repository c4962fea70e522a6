package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// is fails the test unless err matches want, or is nil where that is.
func (s *space) is(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// inspect returns what c is told of key.
func (s *space) inspect(c *distlock.Client, key string) distlock.LockInfo {
	s.Helper()
	info, err := c.Inspect(s.ctx, key)
	if err != nil {
		s.Fatal(err)
	}
	return info
}

func TestInspectCountsTheQueue(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client(distlock.WithTTL(time.Minute), distlock.WithHolder("cron on web 1"))
	if got := s.inspect(c, "job"); got != (distlock.LockInfo{}) {
		t.Errorf("a free key: got %+v", got)
	}
	l := s.acquire(c, "job")
	for i := range 2 {
		s.wait(s.ctx, s.client(), "job")
		s.queued("job", i+2)
	}
	got := s.inspect(c, "job")
	left := got.Left
	got.Left = 0
	if want := (distlock.LockInfo{Held: true, Token: l.Token(), Holder: "cron on web 1", Waiters: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if left <= 0 || left > time.Minute {
		t.Errorf("%v left of a minute", left)
	}
}

// A key that no grant has written is reported where it has the lock, is passed over
// where it has not, and is left alone in any case.
func TestInspectOfWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client()
	lease, err := s.admin.Grant(s.ctx, 60)
	if err != nil {
		t.Fatal(err)
	}
	defer s.admin.Revoke(s.ctx, lease.ID)
	damaged := s.acquire(c, "damaged")
	own, err := s.admin.Get(s.ctx, s.keys("damaged/")[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []clientv3.Op{
		clientv3.OpPut(s.prefix+"foreign/1", "of etcdctl", clientv3.WithLease(lease.ID)),
		clientv3.OpPut(s.prefix+"harmless/1", "of etcdctl"),
		clientv3.OpPut(string(own.Kvs[0].Key), string(own.Kvs[0].Value), clientv3.WithIgnoreLease()), // as a copy would
	} {
		if _, err := s.admin.Do(s.ctx, op); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"foreign", "damaged"} {
		_, err := c.Inspect(s.ctx, key)
		s.is("Inspect "+key, err, distlock.ErrForeign)
		for _, delayed := range []*distlock.Client{c, s.client(distlock.WithLockDelay(time.Second))} {
			s.is("Break "+key, delayed.Break(s.ctx, key, damaged.Token()), distlock.ErrForeign)
		}
		if left := s.keys(key + "/"); len(left) != 1 {
			t.Errorf("%s: left %q", key, left)
		}
	}
	s.is("Release of a key that was written again", damaged.Release(s.ctx), nil)
	if left := s.keys("damaged/"); len(left) > 0 {
		t.Errorf("the release left %q", left)
	}
	if got := s.inspect(c, "harmless"); got != (distlock.LockInfo{}) {
		t.Errorf("a key without a lease: got %+v", got)
	}
}

// With a lock-delay the broken key keeps its place: those that wait go on waiting,
// in their order, and nothing of the holder's is met any more. Who has broken it
// need not be there.
func TestBreakWithADelayKeepsThePlace(t *testing.T) {
	t.Parallel()
	const delay = 3 * time.Second
	s := newSpace(t)
	holder := s.client(distlock.WithTTL(10 * time.Second))
	l := s.acquire(holder, "job")
	name := s.queued("job", 1)[0]
	var next []<-chan result
	for i := range 2 {
		next = append(next, s.wait(s.ctx, s.client(), "job"))
		s.queued("job", i+2)
	}
	cli := dial(t)
	breaker := s.clientOn(cli, distlock.WithLockDelay(delay))
	begun := time.Now()
	s.is("Break", breaker.Break(s.ctx, "job", l.Token()), nil)
	_ = cli.Close() // whatever the breaker would have to do, it cannot
	if resp, err := s.admin.Txn(s.ctx).If(etcdlock.Held(l)).Commit(); err != nil || resp.Succeeded {
		t.Errorf("Held of a broken lock: got %v, %v", resp, err)
	}
	looker := s.client()
	got := s.inspect(looker, "job")
	if got.Left <= 0 || got.Left > delay {
		t.Errorf("%v left of a lock-delay of %v", got.Left, delay)
	}
	if got.Left = 0; got != (distlock.LockInfo{Waiters: 2}) {
		t.Errorf("Inspect within the lock-delay: got %+v", got)
	}
	s.is("CheckSequencer", looker.CheckSequencer(s.ctx, l.Sequencer()), distlock.ErrStale)
	s.is("Break again", s.client(distlock.WithLockDelay(delay)).Break(s.ctx, "job", l.Token()), distlock.ErrStale)
	_, err := looker.TryAcquire(s.ctx, "job")
	s.is("TryAcquire within the lock-delay", err, distlock.ErrHeld)
	s.is("Release of a broken lock", l.Release(s.ctx), distlock.ErrLost)
	if still := s.keys("job/"); time.Since(begun) < delay && (len(still) != 3 || still[0] != name) {
		t.Errorf("the queue is %q, want that %q is before two others", still, name)
	}
	for _, n := range next {
		r := s.got(n)
		s.is("Acquire", r.err, nil)
		if since := r.at.Sub(begun); since < delay {
			t.Errorf("granted after %v, the lock-delay is %v", since, delay)
		}
		s.release(r.lease)
	}
}

// The client whose lock was broken waits for it like all others.
func TestBrokenHolderComesAgain(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for name, delay := range map[string]time.Duration{"at once": 0, "after a lock-delay": 2 * time.Second} {
		c := s.client(distlock.WithTTL(3 * time.Second))
		l := s.acquire(c, name)
		s.is("Break", s.client(distlock.WithLockDelay(delay)).Break(s.ctx, name, l.Token()), nil)
		s.ends(l, 3*time.Second)
		again := s.acquire(c, name)
		if again.Token() <= l.Token() {
			t.Errorf("%s: token %v after %v", name, again.Token(), l.Token())
		}
		s.release(again)
	}
}

// On a cluster each member gives the same answer, and none that is older than the call.
func TestSequencersOnEachMember(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	on := func(addrs ...string) *distlock.Client {
		return s.clientOn(dial(t, func(c *clientv3.Config) { c.Endpoints = addrs }))
	}
	all := endpoints(t, trioEnv)
	holder := on(all...)
	var members []*distlock.Client
	for _, addr := range all {
		members = append(members, on(addr))
	}
	for range 5 {
		l := s.acquire(holder, "job")
		for _, m := range members {
			s.is("CheckSequencer of a grant", m.CheckSequencer(s.ctx, l.Sequencer()), nil)
		}
		s.release(l)
		for _, m := range members {
			s.is("CheckSequencer after the release", m.CheckSequencer(s.ctx, l.Sequencer()), distlock.ErrStale)
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.is("an ended ctx", holder.CheckSequencer(ctx, "1.aw.etcd"), context.Canceled)
}
