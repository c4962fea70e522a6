package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

func TestSystemNeverGoesBackAndKeepsUpWithMonotonic(t *testing.T) {
	system, mono := clock.System(), clock.Monotonic()
	var last time.Duration
	for range 1000 {
		before := mono()
		now := system()
		if now < last {
			t.Fatalf("went back from %v to %v", last, now)
		}
		if now < before {
			t.Fatalf("system clock %v is behind monotonic time %v", now, before)
		}
		last = now
	}
}

func TestMonotonicFollowsTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.Monotonic()
		time.Sleep(time.Hour)
		if got := now(); got != time.Hour {
			t.Fatalf("got %v, want 1h", got)
		}
	})
}

func BenchmarkSystem(b *testing.B) {
	now := clock.System()
	for b.Loop() {
		now()
	}
}
