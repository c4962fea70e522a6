package main

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Ten replicas start at once: each step is done once, and all of them go on.
func TestReplicasStartTogether(t *testing.T) {
	t.Parallel()
	b, db := memory.New(), new(store)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := migrate(t.Context(), b, db); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !slices.Equal(db.applied, steps) || db.current() != len(steps) {
		t.Errorf("got %q, want %q", db.applied, steps)
	}
}

// A replica that was paused in the middle is refused when it wakes, and the
// next one has gone on where it was.
func TestLateReplicaIsRefused(t *testing.T) {
	t.Parallel()
	b, db := memory.New(), new(store)
	c, err := distlock.New(b)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	late, err := c.Acquire(t.Context(), "examples/migrate")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.takeOver(late); err != nil {
		t.Fatal(err)
	}
	if err := db.apply(late, 0, steps[0]); err != nil {
		t.Fatal(err)
	}
	b.Expire("examples/migrate")
	if err := migrate(t.Context(), b, db); err != nil {
		t.Error(err)
	}
	if err := db.apply(late, 1, steps[1]); !errors.Is(err, distlock.ErrStale) {
		t.Errorf("a late step: got %v, want ErrStale", err)
	}
	if !slices.Equal(db.applied, steps) {
		t.Errorf("got %q, want %q", db.applied, steps)
	}
}
