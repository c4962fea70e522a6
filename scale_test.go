package distlock_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

const many = 10_000

// Ten thousand leases held for three TTLs: batches, no goroutine of their own.
func TestManyLeases(t *testing.T) { // not parallel: it counts goroutines
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sizes []int
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return batch{s, &mu, &sizes} }}
		c := newClient(t, b)
		before := goroutines()
		leases := make([]*distlock.Lease, many)
		for i := range leases {
			leases[i] = acquire(t, c, fmt.Sprint(i))
			if i%100 == 0 {
				time.Sleep(10 * time.Millisecond) // they take a second in all
			}
		}
		for range 90 {
			time.Sleep(time.Second)
			synctest.Wait()
			if n := goroutines() - before; n > 3 {
				t.Fatalf("%d goroutines more between renewals", n)
			}
		}
		for _, l := range leases {
			if err := l.Err(); err != nil {
				t.Fatalf("%s: %v", l.Key(), err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if got := slices.Max(sizes); got > distlock.MaxBatch {
			t.Errorf("a batch of %d, want at most %d", got, distlock.MaxBatch)
		}
		if n, most := len(sizes), 9*(many/distlock.MaxBatch+2); n > most {
			t.Errorf("%d batches in three TTLs, want at most %d", n, most)
		}
		t.Logf("%d batches of up to %d", len(sizes), slices.Max(sizes))
	})
}

// goroutines counts those that the library has started. The runtime starts some, too.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("\ncreated by github.com/distlock-go/distlock."))
}

// stub is a service that grants everything and remembers nothing, so that all
// the heap in use is the core's.
type stub struct{ distlock.Backend }

func (s stub) Open(context.Context, distlock.Terms) (distlock.Session, error) { return s, nil }

func (stub) TryAcquire(_ context.Context, r distlock.Request) (distlock.Hold, error) {
	return distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: 1}, nil
}

func (stub) Renew(_ context.Context, holds []distlock.Hold) []error { return make([]error, len(holds)) }

func (stub) Release(context.Context, distlock.Hold) error { return nil }

func (stub) Close(context.Context) error { return nil }

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestHeapOfAHeldLease(t *testing.T) { // not parallel: it measures the process
	keys := make([]string, many)
	for i := range keys {
		keys[i] = fmt.Sprint("key/", i)
	}
	c := newClient(t, stub{memory.New()})
	running, before := goroutines(), heap()
	leases := make([]*distlock.Lease, many)
	for i, key := range keys {
		leases[i] = acquire(t, c, key)
	}
	each := (heap() - before) / many
	t.Logf("%d bytes for each held lease", each)
	if each >= 1024 {
		t.Errorf("%d bytes for each held lease, want under 1024", each)
	}
	if n := goroutines() - running; n > 3 {
		t.Errorf("%d goroutines more with %d leases held", n, many)
	}
	for _, l := range leases {
		is(t, "Release", l.Release(t.Context()), nil)
	}
	leases = nil
	if left := int64(heap()) - int64(before); left > many*160 { // maps keep their buckets
		t.Errorf("%d bytes are left after all leases were released", left)
	}
}

// A thousand rounds leave nothing that grows.
func TestRoundsLeaveNothing(t *testing.T) {
	c := newClient(t, memory.New())
	round := func() {
		for i := range 500 {
			l := acquire(t, c, fmt.Sprint(i))
			ctx := l.Context(t.Context())
			_, _ = c.TryAcquire(ctx, l.Key())
			is(t, "Release", l.Release(ctx), nil)
		}
	}
	round()
	running, before := goroutines(), heap()
	round()
	round()
	if n := goroutines() - running; n > 2 {
		t.Errorf("%d goroutines more", n)
	}
	if n := int64(heap()) - int64(before); n > 100_000 {
		t.Errorf("%d bytes more after 1,000 rounds", n)
	}
}
