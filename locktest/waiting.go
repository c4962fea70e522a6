package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// A result is what Acquire returned, and when.
type result struct {
	lease *distlock.Lease
	err   error
	at    time.Time
}

// wait calls Acquire in a goroutine, which ends with ctx at the latest, and
// returns once it has taken its place in line.
func (r *row) wait(ctx context.Context, c *distlock.Client, key string) <-chan result {
	r.Helper()
	w := newWaiting(ctx)
	results := make(chan result, 1)
	go func() {
		l, err := c.Acquire(w, key)
		results <- result{l, err, time.Now()}
	}()
	select {
	case <-w.began:
	case <-time.After(r.patience()):
		r.Fatalf("Acquire does not begin to wait for the end of its ctx")
	}
	return results
}

// got returns the lease of a wait that must succeed within d.
func (r *row) got(results <-chan result, d time.Duration) result {
	r.Helper()
	res := r.ended(results, d)
	if res.err != nil {
		r.Fatalf("Acquire: %v", res.err)
	}
	return res
}

// ended returns the outcome of a wait that must be over within d.
func (r *row) ended(results <-chan result, d time.Duration) result {
	r.Helper()
	select {
	case res := <-results:
		return res
	case <-time.After(d):
		r.Fatalf("Acquire still waits after %v", d)
	}
	panic("unreachable")
}

// handOvers returns the median of how long a release takes to reach a waiter.
func handOvers(r *row, a, b *distlock.Client) time.Duration {
	var took []time.Duration
	for range 5 {
		took = append(took, handOver(r, a, b, r.key, r.release))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// handOver returns how long it takes from when a's lease ends by the call of end
// until b, which waits, has one.
func handOver(r *row, a, b *distlock.Client, key string, end func(*distlock.Lease)) time.Duration {
	l := r.acquire(a, key)
	results := r.wait(r.within(3*r.patience()), b, key)
	r.throughout(100*time.Millisecond, func() error { // time for its first attempt to be refused
		if len(results) > 0 {
			return errors.New("a waiter got a key that is held")
		}
		return nil
	})
	start := time.Now()
	end(l)
	res := r.got(results, r.patience())
	r.release(res.lease)
	return res.at.Sub(start)
}

func wokenByRelease(r *row) {
	if d := handOvers(r, r.lasting(), r.lasting()); d > r.h.HandOver {
		r.Errorf("a waiter of another client gets a released key after %v, want %v", d, r.h.HandOver)
	}
}

func wokenInClient(r *row) {
	c := r.lasting()
	if d := handOvers(r, c, c); d > slack {
		r.Errorf("a waiter of the same client gets a released key after %v, want %v", d, slack)
	}
}

func firstComeFirstServed(r *row) {
	c := r.lasting()
	l := r.acquire(c, r.key)
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	ctx := r.within(3 * r.patience())
	for i := range 8 {
		results := r.wait(ctx, c, r.key)
		wg.Go(func() {
			res := <-results
			if res.err != nil {
				r.Errorf("waiter %d: %v", i, res.err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if err := res.lease.Release(ctx); err != nil {
				r.Errorf("waiter %d: %v", i, err)
			}
		})
	}
	r.release(l)
	wg.Wait()
	if !slices.IsSorted(order) {
		r.Errorf("served in the order %v, want that of arrival", order)
	}
}

// starvesNobody has clients contend until each has had the key a few times. One
// that is always overtaken has it once in a while, by a poll; hence more than once.
func starvesNobody(r *row) {
	const clients, turns, most = 4, 5, time.Minute
	ctx, cancel := context.WithTimeout(r.ctx, most)
	defer cancel()
	var mu sync.Mutex
	var grants [clients]int
	took := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		grants[i]++
		if slices.Min(grants[:]) == turns {
			cancel()
		}
	}
	var wg sync.WaitGroup
	for i := range clients {
		c := r.lasting()
		wg.Go(func() {
			for ctx.Err() == nil {
				l, err := c.Acquire(ctx, r.key)
				if err != nil {
					continue // of a server that has no time, too: the others' grants tell
				}
				took(i)
				_ = l.Release(r.ctx) // unknown outcomes are cleaned up
			}
		})
	}
	wg.Wait()
	if slices.Min(grants[:]) < turns {
		r.Errorf("grants of each client after %v: %v, want %d at least", most, grants, turns)
	}
}

func refusedLeavesNothing(r *row) {
	a, b, c := r.lasting(), r.lasting(), r.lasting()
	l := r.try(a, r.key)
	for range 20 {
		r.refused(b, r.key)
	}
	r.release(l)
	r.release(r.try(c, r.key))
	r.release(r.try(a, r.key))
	r.nothingLeft(r.key)
}

// nothingLeft checks the residue of key where the harness can count it.
func (r *row) nothingLeft(key string) {
	r.Helper()
	if r.h.Residue == nil {
		return
	}
	var n int
	var err error
	if !poll(soon, func() bool { n, err = r.h.Residue(r.within(r.patience()), key); return err == nil && n == 0 }) {
		r.Errorf("residue of key %q: got %v, %v; want 0", key, n, err)
	}
}

func waitEndsByContext(r *row) {
	a, b, c := r.lasting(), r.lasting(), r.lasting()
	const wait = 600 * time.Millisecond // time enough to be told that the key is held
	l := r.try(a, r.key)
	r.refused(b, r.key)
	for range 4 {
		start := time.Now()
		got, err := b.Acquire(r.within(wait), r.key)
		if got != nil || err == nil {
			r.Fatalf("Acquire of a held key: got %v, %v; want nil and an error", got, err)
		}
		r.is("a wait that its deadline ended", err, distlock.ErrHeld, context.DeadlineExceeded)
		if took := time.Since(start); took > wait+slack {
			r.Errorf("Acquire returned %v after the end of its ctx", took-wait)
		}
	}
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(r.ctx)
	results := r.wait(ctx, b, r.key)
	cancel(cause)
	r.is("a wait that was cancelled", r.ended(results, slack).err, context.Canceled, cause)
	r.release(l)
	r.free(c, r.key, soon)
	r.nothingLeft(r.key)
}

// spyBackend counts sessions.
type spyBackend struct {
	distlock.Backend
	mu     sync.Mutex // guards opened
	opened int
}

func (b *spyBackend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	b.mu.Lock()
	b.opened++
	b.mu.Unlock()
	return b.Backend.Open(ctx, t)
}

// silent checks that f, with a fresh client, asks the service for nothing.
func (r *row) silent(what string, f func(c *distlock.Client)) {
	r.Helper()
	spy := &spyBackend{Backend: r.h.Backend(r)}
	attempts := 0
	c := r.client(spy, r.h.TTL, distlock.WithTrace(&distlock.Trace{
		Acquired: func(_ context.Context, i distlock.AcquireInfo) { attempts += i.Attempts },
	}))
	f(c)
	spy.mu.Lock()
	defer spy.mu.Unlock()
	if spy.opened+attempts > 0 {
		r.Errorf("%s: %d sessions and %d attempts, want none", what, spy.opened, attempts)
	}
}

func endedContextSendsNothing(r *row) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	r.silent("an Acquire whose ctx has ended", func(c *distlock.Client) {
		for name, f := range acquirers(c) {
			l, err := f(ctx, r.key)
			if l != nil {
				r.Errorf("%s: got a lease", name)
			}
			r.is(name, err, context.Canceled)
		}
	})
}

// acquirers are the two ways to ask a client for a key.
func acquirers(c distlock.Locker) map[string]func(context.Context, string, ...distlock.Option) (*distlock.Lease, error) {
	return map[string]func(context.Context, string, ...distlock.Option) (*distlock.Lease, error){
		"Acquire": c.Acquire, "TryAcquire": c.TryAcquire,
	}
}

// crash leaves key held by a holder that renews nothing from now on. It
// returns the lease, which is nil if the holder was a bare session.
func crash(r *row, key string, delay time.Duration) (*distlock.Lease, distlock.Token) {
	r.Helper()
	if r.h.Link != nil {
		c, link := r.linked(r.h.TTL, distlock.WithLockDelay(delay))
		l := r.acquire(c, key)
		link.Swallow()
		return l, l.Token()
	}
	s, t := r.session(r.h.Backend(r), distlock.Terms{TTL: r.h.TTL, LockDelay: delay})
	h, err := s.TryAcquire(r.within(r.patience()), distlock.Request{Key: key, Owner: distlock.NewOwner(), Terms: t})
	if err != nil {
		r.Fatalf("TryAcquire on a session: %v", err)
	}
	return nil, h.Token
}

func crashedHolder(r *row) {
	c := r.short()
	_, before := crash(r, r.key, 0)
	start := time.Now()
	r.refused(c, r.key)
	l := r.acquire(c, r.key)
	if took, most := time.Since(start), r.h.Expiry+pollEvery+slack; took > most {
		r.Errorf("a crashed holder's key is granted after %v, want %v", took, most)
	}
	larger(r, before, l)
	r.release(l)
	key := r.key + "/try"
	crash(r, key, 0)
	r.free(c, key, r.h.Expiry+slack)
}

// larger checks that the token of l is larger than before.
func larger(r *row, before distlock.Token, l *distlock.Lease) {
	r.Helper()
	switch {
	case !r.fenced() && l.Token() != 0:
		r.Errorf("the token is %v where there is no fencing, want 0", l.Token())
	case r.fenced() && l.Token() <= before:
		r.Errorf("the token is %v, want more than %v", l.Token(), before)
	}
}
