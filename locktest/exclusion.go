package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

func twoClients(r *row) {
	excludes(r, r.lasting(), r.lasting())
}

func oneBackend(r *row) {
	b := r.h.Backend(r)
	excludes(r, r.client(b, r.long()), r.client(b, r.long()))
}

func oneClient(r *row) {
	c := r.lasting()
	excludes(r, c, c)
}

// excludes checks that a and b get a key one after the other, in either order.
func excludes(r *row, a, b *distlock.Client) {
	for range 2 {
		l := r.try(a, r.key)
		r.refused(b, r.key)
		if !l.Valid() || l.Err() != nil || l.Key() != r.key {
			r.Errorf("a held lease: Valid %v, Err %v, Key %q", l.Valid(), l.Err(), l.Key())
		}
		r.release(l)
		l = r.try(b, r.key)
		r.refused(a, r.key)
		r.release(l)
		a, b = b, a
	}
}

func atOnce(r *row) {
	a, b := r.lasting(), r.lasting()
	for i := range 10 {
		key := fmt.Sprint(r.key, "/", i)
		leases := make([]*distlock.Lease, 4)
		var all sync.WaitGroup
		for j := range leases {
			all.Go(func() {
				l, err := a.TryAcquire(r.ctx, key)
				if err != nil && !errors.Is(err, distlock.ErrHeld) {
					r.Errorf("TryAcquire: got %v, want a lease or ErrHeld", err)
				}
				leases[j] = l
			})
		}
		all.Wait()
		leases = slices.DeleteFunc(leases, func(l *distlock.Lease) bool { return l == nil })
		switch len(leases) {
		case 0: // each was in the others' way
		case 1:
			r.refused(b, key)
			r.release(leases[0])
		default:
			r.Errorf("%d leases on one key at a time", len(leases))
		}
		r.release(r.acquire(b, key))
	}
}

// An oracle watches what is done under one lock.
type oracle struct {
	inside atomic.Int32
	count  atomic.Int64 // read and written in two steps
	fence  distlock.Fence
	mu     sync.Mutex
	errs   []error
}

// use does one unit of work under l and gives it up.
func (o *oracle) use(ctx context.Context, l *distlock.Lease) {
	if n := o.inside.Add(1); n != 1 {
		o.fail(fmt.Errorf("%d holders of one key at a time", n))
	}
	n := o.count.Load()
	runtime.Gosched()
	write := func() error { o.count.Store(n + 1); return nil }
	var err error
	if l.Token() == 0 {
		err = write()
	} else {
		err = o.fence.Do(l.Key(), l.Token(), write)
	}
	if !l.Valid() {
		o.fail(fmt.Errorf("a lease ended under its holder: %w", l.Err()))
	}
	o.inside.Add(-1)
	o.fail(errors.Join(err, l.Release(ctx)))
}

func (o *oracle) fail(err error) {
	if err == nil {
		return
	}
	o.mu.Lock()
	o.errs = append(o.errs, err)
	o.mu.Unlock()
}

// crowd has n goroutines take key rounds times each, in turn on each client.
func crowd(r *row, n, rounds int, clients ...*distlock.Client) {
	var o oracle
	var wg sync.WaitGroup
	ctx := r.within(5 * r.patience())
	for i := range n {
		wg.Go(func() {
			for range rounds {
				l, err := clients[i%len(clients)].Acquire(ctx, r.key)
				if err != nil {
					o.fail(err)
					return
				}
				o.use(ctx, l)
			}
		})
	}
	wg.Wait()
	o.verdict(r, int64(n*rounds))
}

// verdict reports what the oracle has seen of want units of work.
func (o *oracle) verdict(r *row, want int64) {
	r.Helper()
	for _, err := range o.errs[:min(len(o.errs), 5)] {
		r.Error(err)
	}
	if got := o.count.Load(); got != want {
		r.Errorf("updates lost: the counter is %d, want %d", got, want)
	}
}

func contention(r *row) { crowd(r, 12, 5, r.lasting(), r.lasting(), r.lasting()) }

func fiftyWaiters(r *row) {
	l := r.acquire(r.lasting(), r.key)
	clients := []*distlock.Client{r.lasting(), r.lasting()}
	ctx := r.within(5 * r.patience())
	var o oracle
	var wg sync.WaitGroup
	for i := range 50 {
		results := r.wait(ctx, clients[i%len(clients)], r.key)
		wg.Go(func() {
			res := <-results
			if res.err != nil {
				o.fail(res.err)
				return
			}
			o.use(ctx, res.lease)
		})
	}
	r.release(l)
	wg.Wait()
	o.verdict(r, 50)
}

// oddKeys are keys that a careless escaping mixes up or cuts short.
func oddKeys(base string) []string {
	keys := []string{
		"", "/", "/a", "/a/", "/a/b", "/a//b", "/a/../b", "/a/.", "a", "aa", "{a}", "{", "}", "{}b", "{a}{b}",
		" ", " a", "a ", "a b", "\t", "\n", "ü", "u\u0308", "鍵", "🔒", "%2F", "%", "+", "*", "?", "[a]", "\\", `"`, "'",
		":", ":lock", "-lock", "_lock", "#", ";", "a\u0001", "A", "\u007f", "\ufeff", "\ufffd",
	}
	for i, k := range keys {
		keys[i] = base + k
	}
	full := base + strings.Repeat("x", 512-len(base))
	return append(keys, full, full[:511], full[:511]+"y", "{"+base+"}", "}"+base, "/"+base, " "+base, "."+base)
}

func distinctKeys(r *row) {
	a, b := r.lasting(), r.lasting()
	keys := oddKeys(r.key)
	leases := make([]*distlock.Lease, len(keys))
	for i, key := range keys {
		l, err := a.TryAcquire(r.within(r.patience()), key)
		if err != nil {
			r.Fatalf("key %q, while %q are held: %v", key, keys[:i], err)
		}
		leases[i] = l
	}
	for i, key := range keys {
		if l, err := b.TryAcquire(r.within(r.patience()), key); !errors.Is(err, distlock.ErrHeld) {
			r.Fatalf("key %q, held: got %v, %v; want ErrHeld", key, l, err)
		}
		if i%2 == 0 {
			r.release(leases[i])
		}
	}
	for i, key := range keys {
		if i%2 == 0 {
			r.release(r.try(b, key))
		} else {
			r.refused(b, key)
		}
	}
}
