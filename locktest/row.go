package locktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

const (
	// slack is what a busy machine may add to any bound.
	slack = 500 * time.Millisecond
	// pollEvery is the longest a waiter goes without asking (rule 9).
	pollEvery = time.Second
	// soon is the bound of what the library promises to clean up within a
	// second (rule 3).
	soon = time.Second + slack
)

// A row is one running case.
type row struct {
	testing.TB
	h    *Harness
	info distlock.Info
	key  string // the case's own; others are made by appending to it
	ctx  context.Context
}

func newRow(t testing.TB, h *Harness, name string) *row {
	key := fmt.Sprintf("locktest-%08x/%s", rand.Uint32(), name)
	return &row{TB: t, h: h, info: h.Backend(t).Info(), key: key, ctx: t.Context()}
}

// long is a TTL that does not run out during a case.
func (r *row) long() time.Duration { return max(2*r.h.TTL, 5*time.Second) }

// patience is how long anything may take that must happen.
func (r *row) patience() time.Duration { return r.h.Expiry + 2*pollEvery + slack }

// fenced reports whether tokens mean something.
func (r *row) fenced() bool { return r.info.Fencing != distlock.FencingNone }

// short makes a client whose TTL is the harness's.
func (r *row) short(opts ...distlock.Option) *distlock.Client {
	r.Helper()
	return r.client(r.h.Backend(r), r.h.TTL, opts...)
}

// lasting makes a client whose leases do not run out during the case.
func (r *row) lasting(opts ...distlock.Option) *distlock.Client {
	r.Helper()
	return r.client(r.h.Backend(r), r.long(), opts...)
}

// client makes a client on b that is closed at the end.
func (r *row) client(b distlock.Backend, ttl time.Duration, opts ...distlock.Option) *distlock.Client {
	r.Helper()
	c, err := distlock.New(b, append([]distlock.Option{distlock.WithTTL(ttl)}, opts...)...)
	if err != nil {
		r.Fatalf("New: %v", err)
	}
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*r.patience()) // how soon is the matter of close-…
		defer cancel()
		if err := c.Close(ctx); err != nil && !r.Failed() {
			r.Errorf("Close at the end of the case: %v", err)
		}
	})
	return c
}

// linked makes a client behind a network that can be cut.
func (r *row) linked(ttl time.Duration, opts ...distlock.Option) (*distlock.Client, Link) {
	r.Helper()
	b, link := r.h.Link(r)
	c := r.client(b, ttl, opts...)
	r.Cleanup(link.Restore) // before the client is closed
	return c, link
}

// within returns a context that ends after d.
func (r *row) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(r.ctx, d)
	r.Cleanup(cancel)
	return ctx
}

// returns calls f, which must return within d.
func (r *row) returns(what string, d time.Duration, f func()) {
	r.Helper()
	done := make(chan struct{})
	go func() { // ends with f
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
		r.Fatalf("%s has not returned after %v", what, d)
	}
}

// acquire waits for key; the case ends if it is not granted.
func (r *row) acquire(c *distlock.Client, key string, opts ...distlock.Option) *distlock.Lease {
	r.Helper()
	l, err := c.Acquire(r.within(r.patience()), key, opts...)
	if err != nil {
		r.Fatalf("Acquire: %v", err)
	}
	return l
}

// try makes one attempt that must be granted.
func (r *row) try(c *distlock.Client, key string, opts ...distlock.Option) *distlock.Lease {
	r.Helper()
	l, err := c.TryAcquire(r.within(r.patience()), key, opts...)
	if err != nil {
		r.Fatalf("TryAcquire of a free key: %v", err)
	}
	return l
}

// refused makes one attempt that must be answered with ErrHeld.
func (r *row) refused(c *distlock.Client, key string) {
	r.Helper()
	l, err := c.TryAcquire(r.within(r.patience()), key)
	if err == nil {
		l.Release(r.ctx)
		r.Fatalf("TryAcquire of a held key: granted, want ErrHeld")
	}
	if !errors.Is(err, distlock.ErrHeld) || l != nil {
		r.Fatalf("TryAcquire of a held key: got %v, %v; want nil, ErrHeld", l, err)
	}
}

// release gives l up, which must succeed.
func (r *row) release(l *distlock.Lease) {
	r.Helper()
	if err := l.Release(r.ctx); err != nil {
		r.Fatalf("Release: got %v, want nil", err)
	}
}

// free checks that key can be had by c within d, and gives it back.
func (r *row) free(c *distlock.Client, key string, d time.Duration) {
	r.Helper()
	var l *distlock.Lease
	var err error
	ok := poll(d, func() bool {
		l, err = c.TryAcquire(r.within(r.patience()), key)
		return err == nil
	})
	if !ok {
		r.Fatalf("the key is not free after %v: %v", d, err)
	}
	r.release(l)
}

// eventually checks that cond becomes true within d.
func (r *row) eventually(d time.Duration, what string, cond func() bool) {
	r.Helper()
	if !poll(d, cond) {
		r.Fatalf("not within %v: %s", d, what)
	}
}

// throughout checks that cond stays nil for d. An error that is stop ends it.
func (r *row) throughout(d time.Duration, cond func() error, stop ...error) {
	r.Helper()
	var err error
	poll(d, func() bool { err = cond(); return err != nil })
	if err != nil && !slices.Contains(stop, err) {
		r.Fatal(err)
	}
}

// ends waits until l is over, at most for d, and checks that it was lost.
func (r *row) ends(l *distlock.Lease, d time.Duration) {
	r.Helper()
	select {
	case <-l.Done():
	case <-time.After(d):
		r.Fatalf("Done is not closed after %v", d)
	}
	if err := l.Err(); !errors.Is(err, distlock.ErrLost) || l.Valid() {
		r.Fatalf("after the loss: Err is %v, Valid is %v; want ErrLost, false", err, l.Valid())
	}
}

// is checks that err matches each of targets.
func (r *row) is(what string, err error, targets ...error) {
	r.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			r.Errorf("%s: got %v, want %v", what, err, target)
		}
	}
}

// poll asks cond every few milliseconds until it is true or d is over, and at
// least twice.
func poll(d time.Duration, cond func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if cond() {
			return true
		}
		time.Sleep(min(10*time.Millisecond, max(time.Millisecond, d/20)))
	}
	return cond()
}

// waiting is a context that tells when somebody begins to wait for its end: a
// call of Acquire has then taken its place in line.
type waiting struct {
	context.Context
	began chan struct{} // gets a value
}

func newWaiting(ctx context.Context) waiting {
	return waiting{Context: ctx, began: make(chan struct{}, 1)}
}

func (w waiting) Done() <-chan struct{} {
	select {
	case w.began <- struct{}{}:
	default:
	}
	return w.Context.Done()
}
