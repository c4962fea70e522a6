package postgres_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
)

// crash ends the connection that holds key, and waits until its lease knows.
func (b *bed) crash(l *distlock.Lease) {
	b.t.Helper()
	exec(b.t, b.pool, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE "+isLock, pglock.ID(b.opts.Namespace, l.Key()))
	select {
	case <-l.Done():
	case <-time.After(patience):
		b.t.Fatal("the lease does not end")
	}
}

// After a crash nobody has the key for the lock-delay, whoever asks and however
// often, and it is not held meanwhile. It runs once.
func TestLockDelayRunsOnce(t *testing.T) {
	t.Parallel()
	const delay = 2 * time.Second
	b := newBed(t, distlock.WithTTL(time.Minute), distlock.WithLockDelay(delay))
	old := b.acquire("k")
	b.crash(old)
	_, err := b.client.TryAcquire(t.Context(), "k")
	is(t, "TryAcquire", err, distlock.ErrHeld) // begins the delay
	begun := time.Now()
	tries := 0
	for {
		c := client(t, b.pool, b.opts) // another one each time, that asks once and goes
		l, err := c.TryAcquire(t.Context(), "k")
		if err == nil {
			if since := time.Since(begun); since < delay-50*time.Millisecond || since > delay+patience {
				t.Errorf("granted after %v, the lock-delay is %v", since, delay)
			}
			if l.Token() <= old.Token() {
				t.Errorf("token %v after %v", l.Token(), old.Token())
			}
			is(t, "Release", l.Release(t.Context()))
			break
		}
		is(t, "TryAcquire", err, distlock.ErrHeld)
		if b.held("k") {
			t.Error("a refused attempt has kept the lock")
		}
		tries++
		time.Sleep(50 * time.Millisecond)
	}
	if tries < 3 {
		t.Errorf("refused %d times", tries)
	}
	l, err := b.client.TryAcquire(t.Context(), "k")
	is(t, "TryAcquire after a release", err) // at once
	b.crash(l)
	_, err = b.client.TryAcquire(t.Context(), "k")
	is(t, "TryAcquire after another crash", err, distlock.ErrHeld)
}

// Each holder owes the lock-delay that it asked for, or none.
func TestNoLockDelayIsOwedUnlessAskedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(time.Minute))
	b.crash(b.acquire("k", distlock.WithLockDelay(300*time.Millisecond)))
	l := b.acquire("k") // waits for it, and owes none
	b.crash(l)
	next, err := client(t, b.pool, b.opts).TryAcquire(t.Context(), "k")
	is(t, "TryAcquire", err)
	if err == nil && next.Token() <= l.Token() {
		t.Errorf("token %v after %v", next.Token(), l.Token())
	}
}
