package redis

import (
	"sync"
	"testing"
)

// Goroutines that others start while somebody waits are neither a race nor a
// panic, as they are with a sync.WaitGroup.
func TestGroupMayGrowWhileItIsAwaited(t *testing.T) {
	for range 300 {
		var g group
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { g.start(func() { g.start(func() {}) }) })
			all.Go(g.wait)
		}
		all.Wait()
		g.wait()
		if g.n != 0 {
			t.Fatalf("%d goroutines are left", g.n)
		}
	}
}
