package postgres_test

import (
	"context"
	"slices"
	"sync"
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
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var grants [contenders]int
	var running sync.WaitGroup
	for i, c := range clients {
		running.Go(func() {
			for {
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					return
				}
				grants[i]++
				if err := l.Release(context.Background()); err != nil {
					t.Errorf("got %v from Release, want nil", err)
				}
			}
		})
	}
	running.Wait()
	least, most := slices.Min(grants[:]), slices.Max(grants[:])
	t.Logf("grants: %v", grants)
	if most > 2*least {
		t.Errorf("the luckiest had the key %d times, the unluckiest %d: more than twice as often", most, least)
	}
}
