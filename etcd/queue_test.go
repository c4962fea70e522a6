package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	l := s.acquire(s.client(), "job")
	const n = 8
	var waits [n]<-chan result
	for i := range waits {
		waits[i] = s.wait(s.ctx, s.client(), "job")
		s.queued("job", i+2)
	}
	last := l.Token()
	s.release(l)
	for i, w := range waits {
		r := s.got(w)
		if r.err != nil {
			t.Fatal(r.err)
		}
		if len(s.queued("job", n-i)) != n-i || r.lease.Token() <= last {
			t.Errorf("waiter %d: token %v after %v", i, r.lease.Token(), last)
		}
		last = r.lease.Token()
		s.release(r.lease)
	}
	s.queued("job", 0)
}

func TestWaiterThatGivesUpLetsTheNextWaitOn(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	l := s.acquire(s.client(), "job")
	ctx, cancel := context.WithCancel(s.ctx)
	second := s.wait(ctx, s.client(), "job")
	s.queued("job", 2)
	third := s.wait(s.ctx, s.client(), "job")
	s.queued("job", 3)
	cancel()
	if r := s.got(second); !errors.Is(r.err, context.Canceled) || !errors.Is(r.err, distlock.ErrHeld) {
		t.Errorf("a cancelled wait: got %v", r.err)
	}
	s.queued("job", 2)
	select {
	case r := <-third:
		t.Fatalf("granted while held: %v", r)
	case <-time.After(100 * time.Millisecond):
	}
	s.release(l)
	s.release(s.got(third).lease)
}

func TestOneClientExcludesItself(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	cli := dial(t)
	a, b := s.clientOn(cli), s.clientOn(cli)
	l := s.acquire(a, "job")
	for _, c := range []*distlock.Client{a, b} {
		if _, err := c.TryAcquire(s.ctx, "job"); !errors.Is(err, distlock.ErrHeld) {
			t.Errorf("TryAcquire of a held key: got %v, want ErrHeld", err)
		}
	}
	next := s.wait(s.ctx, a, "job")
	s.release(l)
	r := s.got(next)
	if err := l.Release(s.ctx); !errors.Is(err, distlock.ErrReleased) {
		t.Errorf("a second release: got %v, want ErrReleased", err)
	}
	if _, err := b.TryAcquire(s.ctx, "job"); !errors.Is(err, distlock.ErrHeld) || r.lease.Err() != nil {
		t.Errorf("the session's next lease: %v, TryAcquire beside it: %v", r.lease.Err(), err)
	}
	s.release(r.lease)
}

func TestStrayKeyWithoutLeaseBlocksNobody(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	stray := func(name string) {
		if _, err := s.admin.Put(s.ctx, s.prefix+name, "stray"); err != nil {
			t.Fatal(err)
		}
	}
	stray("job/" + distlock.NewOwner().Text())
	stray("job/config")
	a, b := s.client(), s.client()
	l, err := a.TryAcquire(s.ctx, "job")
	if err != nil {
		t.Fatal(err)
	}
	stray("job/between")
	next := s.wait(s.ctx, b, "job")
	s.queued("job", 5)
	if _, err := a.TryAcquire(s.ctx, "job"); !errors.Is(err, distlock.ErrHeld) {
		t.Errorf("TryAcquire of a held key: got %v, want ErrHeld", err)
	}
	s.release(l)
	s.release(s.got(next).lease)
	s.queued("job", 3)
}

func TestSharesTheQueueWithEtcdsOwnMutex(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	session, err := concurrency.NewSession(s.admin, concurrency.WithTTL(20))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	m := concurrency.NewMutex(session, s.prefix+"job")
	if err := m.Lock(s.ctx); err != nil {
		t.Fatal(err)
	}
	c := s.client()
	if _, err := c.TryAcquire(s.ctx, "job"); !errors.Is(err, distlock.ErrHeld) {
		t.Errorf("TryAcquire: got %v, want ErrHeld", err)
	}
	next := s.wait(s.ctx, c, "job")
	s.queued("job", 2)
	if err := m.Unlock(s.ctx); err != nil {
		t.Fatal(err)
	}
	l := s.got(next).lease
	if err := m.TryLock(s.ctx); !errors.Is(err, concurrency.ErrLocked) {
		t.Errorf("TryLock: got %v, want ErrLocked", err)
	}
	s.release(l)
}

func TestCompactionDuringAWait(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	l := s.acquire(s.client(), "job")
	next := s.wait(s.ctx, s.client(), "job")
	s.queued("job", 2)
	for i := range 3 {
		resp, err := s.admin.Put(s.ctx, s.prefix+"other", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.admin.Compact(s.ctx, resp.Header.Revision); err != nil {
			t.Logf("compact: %v", err) // another test's was later
		}
	}
	start := time.Now()
	s.release(l)
	r := s.got(next)
	if r.err != nil || r.at.Sub(start) > time.Second {
		t.Errorf("hand-over after a compaction: %v, %v", r.at.Sub(start), r.err)
	}
}

func TestQueuedKeyDeletedByHandIsPutAgain(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	a, b := s.client(), s.client()
	l, kept := s.acquire(a, "job"), s.acquire(b, "kept")
	next := s.wait(s.ctx, b, "job")
	old := s.queued("job", 2)[1]
	if _, err := s.admin.Delete(s.ctx, old); err != nil {
		t.Fatal(err)
	}
	s.queued("job", 2)
	s.release(l)
	r := s.got(next)
	if r.err != nil || kept.Err() != nil {
		t.Errorf("got %v; the session's other lease: %v", r.err, kept.Err())
	}
	s.release(r.lease)
}

// The end of the holder's key grants the lock to the next only where the next one's own
// key has not ended with it.
func TestQueueThatIsDeletedAtOnceGrantsNothing(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	a, b := s.client(), s.client()
	for i := range 10 { // by turns, as a transaction's events come in the order of names
		l := s.acquire(a, "job")
		next := s.wait(s.ctx, b, "job")
		s.queued("job", 2)
		time.Sleep(time.Duration(i) * 2 * time.Millisecond) // with and without the watch
		if _, err := s.admin.Delete(s.ctx, s.prefix+"job/", clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
		r := s.got(next)
		if r.err != nil {
			t.Fatal(r.err)
		}
		if resp, err := s.admin.Txn(s.ctx).If(etcdlock.Held(r.lease)).Commit(); err != nil || !resp.Succeeded {
			t.Errorf("granted without its key: %v", err)
		}
		s.release(r.lease)
		_ = l.Release(s.ctx)
		a, b = b, a
	}
}

func TestWaiterLearnsThatItsOwnLeaseIsGone(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	l := s.acquire(s.client(), "job")
	b := s.client()
	kept := s.acquire(b, "kept")
	next := s.wait(s.ctx, b, "job")
	mine := s.queued("job", 2)[1]
	id := s.leaseOf(mine)
	s.eventually("the session's marker", func() bool { return len(s.keys("%session/")) == 2 })
	start := time.Now()
	if _, err := s.admin.Revoke(s.ctx, id); err != nil {
		t.Fatal(err)
	}
	s.ends(kept, time.Second)
	again := ""
	s.eventually("the waiter queues up again", func() bool {
		names := s.keys("job/")
		again = names[len(names)-1]
		return len(names) == 2
	})
	if took := time.Since(start); took > time.Second || again == mine {
		t.Errorf("the waiter queued up again after %v", took)
	}
	s.release(l)
	r := s.got(next)
	if r.err != nil {
		t.Fatal(r.err)
	}
	s.release(r.lease)
}

// A session's key has the same name each time, so a waiter must not take the
// next one of the holder's client for the one that it waits for.
func TestManyWaitersOfFewClients(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	clients := []*distlock.Client{s.client(), s.client(), s.client()}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			l, err := clients[i%3].Acquire(s.ctx, "job")
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Release(s.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.queued("job", 0)
}

func TestWaitIsCheapForAQuietWatch(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	a, b := s.client(), s.client()
	s.release(s.acquire(b, "warm"))
	var took []time.Duration
	for range 50 {
		l := s.acquire(a, "job")
		next := s.wait(s.ctx, b, "job")
		s.queued("job", 2)
		start := time.Now()
		s.release(l)
		r := s.got(next)
		if r.err != nil {
			t.Fatal(r.err)
		}
		took = append(took, r.at.Sub(start))
		s.release(r.lease)
	}
	slices.Sort(took)
	t.Logf("hand-over: median %v, p90 %v, most %v", took[25], took[45], took[49])
	if took[25] > 50*time.Millisecond { // a watch that has to catch up takes up to 100 ms
		t.Errorf("hand-over takes %v in most cases", took[25])
	}
}

func TestFailedTriesLeaveNothing(t *testing.T) { // alone: it counts goroutines
	s := newSpace(t)
	l := s.acquire(s.client(), "job")
	cli := dial(t)
	c := s.clientOn(cli)
	try := func() {
		if _, err := c.TryAcquire(s.ctx, "job"); !errors.Is(err, distlock.ErrHeld) {
			t.Fatalf("TryAcquire of a held key: got %v, want ErrHeld", err)
		}
	}
	try()
	s.eventually("both markers", func() bool { return len(s.keys("%session/")) == 2 })
	before := runtime.NumGoroutine()
	for range 1000 {
		try()
	}
	if names := s.keys(""); len(names) != 3 {
		t.Errorf("1,000 refused attempts leave %q", names)
	}
	for range 20 {
		ctx, cancel := context.WithTimeout(s.ctx, 3*time.Millisecond)
		_, err := c.Acquire(ctx, "job")
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that gave up: got %v", err)
		}
	}
	s.queued("job", 1)
	s.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	if resp, err := s.admin.TimeToLive(s.ctx, s.leaseOf(s.keys("job/")[0]), clientv3.WithAttachedKeys()); err != nil || len(resp.Keys) != 2 {
		t.Errorf("keys of the holder's lease: %v, %v", resp, err)
	}
	s.release(l)
}
