package distlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New()
		c, err := distlock.New(b)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		l, err := c.Acquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.TryAcquire(ctx, "k"); !errors.Is(err, distlock.ErrHeld) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if !l.Valid() {
			t.Fatal(l.Err())
		}
		go func() { time.Sleep(time.Second); l.Release(ctx) }()
		l2, err := c.Acquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if l2.Token() <= l.Token() {
			t.Fatal()
		}
		b.Expire("k")
		<-l2.Done()
		if !errors.Is(l2.Err(), distlock.ErrLost) {
			t.Fatal(l2.Err())
		}
		t.Log(l2.Err())
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if err := distlock.Do(ctx, c, "k", func(context.Context, *distlock.Lease) error { return nil }); !errors.Is(err, distlock.ErrClosed) {
			t.Fatal(err)
		}
	})
}

func BenchmarkAcquireRelease(b *testing.B) {
	c, _ := distlock.New(memory.New())
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		l, err := c.Acquire(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		l.Release(ctx)
	}
}
