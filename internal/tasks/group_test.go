package tasks

import (
	"sync"
	"testing"
)

// Goroutines that others start while somebody waits are neither a race nor a
// panic, as they are with a sync.WaitGroup.
func TestGroupMayGrowWhileItIsAwaited(t *testing.T) {
	for range 300 {
		var g Group
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { g.Start(func() { g.Start(func() {}) }) })
			all.Go(g.Wait)
		}
		all.Wait()
		g.Wait()
		if g.n != 0 {
			t.Fatalf("%d goroutines are left", g.n)
		}
	}
}
