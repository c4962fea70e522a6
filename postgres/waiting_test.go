package postgres_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// Stands for: who released the lock had it again before others were told, or who is
// told first always had it.
func TestNobodyStarves(t *testing.T) {
	const contenders = 8
	opts := fresh()
	clients := make([]*distlock.Client, contenders)
	for i := range clients {
		clients[i] = client(t, connect(t), opts)
		l, err := clients[i].Acquire(within(t, patience), "k") // connects
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var grants [contenders]atomic.Int64
	counts := func() (all []int64) {
		for i := range grants {
			all = append(all, grants[i].Load())
		}
		return all
	}
	var running sync.WaitGroup
	for i, c := range clients {
		running.Go(func() {
			for {
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					return
				}
				grants[i].Add(1)
				if err := l.Release(context.Background()); err != nil {
					t.Errorf("got %v from Release, want nil", err)
				}
			}
		})
	}
	// For 10 s, and for longer where that is not enough for a comparison.
	for start := time.Now(); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if time.Since(start) > 10*time.Second && slices.Min(counts()) >= 20 {
			cancel()
		}
	}
	running.Wait()
	all := counts()
	t.Logf("grants: %v", all)
	if least, most := slices.Min(all), slices.Max(all); most > 2*least {
		t.Errorf("the luckiest had the key %d times, the unluckiest %d: more than twice as often", most, least)
	}
}
