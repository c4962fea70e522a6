package distlock_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// benchClient makes a client by the system's clock, as users have it.
func benchClient(b *testing.B, backend distlock.Backend) *distlock.Client {
	c, err := distlock.New(backend)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(context.Background()) })
	b.ReportAllocs()
	return c
}

func BenchmarkAcquireRelease(b *testing.B) {
	for name, backend := range map[string]distlock.Backend{"memory": memory.New(), "core alone": stub{memory.New()}} {
		b.Run(name, func(b *testing.B) {
			c := benchClient(b, backend)
			ctx := b.Context()
			for b.Loop() {
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Release(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDo(b *testing.B) {
	c := benchClient(b, memory.New())
	ctx := b.Context()
	for b.Loop() {
		err := distlock.Do(ctx, c, "k", func(context.Context, *distlock.Lease) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTryAcquireHeld(b *testing.B) {
	c := benchClient(b, memory.New())
	ctx := b.Context()
	acquire(b, c, "k")
	for b.Loop() {
		if _, err := c.TryAcquire(ctx, "k"); err == nil {
			b.Fatal("granted")
		}
	}
}

func BenchmarkValid(b *testing.B) {
	c := benchClient(b, memory.New())
	l := acquire(b, c, "k")
	for b.Loop() {
		if !l.Valid() {
			b.Fatal("lost")
		}
	}
}

func BenchmarkContext(b *testing.B) {
	c := benchClient(b, memory.New())
	l := acquire(b, c, "k")
	parent := b.Context()
	for b.Loop() {
		ctx, cancel := context.WithCancel(parent)
		l.Context(ctx)
		cancel()
	}
}

// One operation is the renewal of 500 leases.
func BenchmarkRenewBatch(b *testing.B) {
	c := benchClient(b, stub{memory.New()})
	for i := range distlock.MaxBatch {
		acquire(b, c, fmt.Sprint(i))
	}
	for b.Loop() {
		if n := c.RenewAll(); n != distlock.MaxBatch {
			b.Fatalf("%d leases were renewed, want %d", n, distlock.MaxBatch)
		}
	}
}
