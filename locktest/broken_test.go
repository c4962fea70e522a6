package locktest_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/locktest"
)

// A broken is a backend with one fault.
type broken struct {
	name  string
	rule  string // which it breaks, by its number in DESIGN.md, section 4
	fault fault
	// keeper, if not nil, is the fault of a session service instead.
	keeper *keeperFault
	// fails are the rows that must find it.
	fails []string
	// may are rows that find it too, or not, by chance or as a consequence.
	may []string
	// most says that it breaks so much that other rows are not worth a run.
	most bool
}

// sideBySide is how many broken backends are judged at a time: they mostly
// wait.
const sideBySide = 8

// TestBroken proves that the suite finds what it is there for: each fault
// makes its rows fail, and no others.
func TestBroken(t *testing.T) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for _, b := range brokenBackends() {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t.Run(b.name, func(t *testing.T) {
				h := newService(b.fault).harness(shortest)
				if b.keeper != nil {
					h = b.keeper.harness()
				}
				h.Cancels, h.Rounds = 40, 40
				h.Without["release-reply-lost"] = "it takes 5 s"
				judge(t, b, h)
			})
		})
	}
	wg.Wait()
}

func judge(t *testing.T, b broken, h locktest.Harness) {
	t.Helper()
	var only []string
	if b.most {
		only = b.fails
	}
	failures := locktest.Failures(t, h, only...)
	t.Logf("fails: %q", slices.Sorted(maps.Keys(failures)))
	for _, name := range b.fails {
		if _, ok := failures[name]; !ok {
			t.Errorf("%s passes on a backend that breaks rule %s", name, b.rule)
		}
	}
	maps.DeleteFunc(failures, func(name, _ string) bool {
		return slices.Contains(b.fails, name) || slices.Contains(b.may, name)
	})
	if len(failures) > 0 { // a busy machine may have paused for longer than a TTL
		h.Parallel = 2
		failures = locktest.Failures(t, h, slices.Collect(maps.Keys(failures))...)
	}
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		t.Errorf("%s fails on a backend that only breaks rule %s:\n%s", name, b.rule, failures[name])
	}
}

// coresOwn are rows about what the core does by itself: no fault of a backend
// makes them fail and leaves the others in peace. The core's own tests prove
// them.
var coresOwn = []string{}

// TestEveryRowIsProved checks that each row fails on some broken backend.
func TestEveryRowIsProved(t *testing.T) {
	known := locktest.CaseNames()
	proved := make(map[string]bool)
	for _, b := range brokenBackends() {
		for _, name := range b.fails {
			proved[name] = true
		}
		for _, name := range slices.Concat(b.fails, b.may) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: no row is called %q", b.name, name)
			}
		}
	}
	for _, name := range known {
		if proved[name] == slices.Contains(coresOwn, name) {
			t.Errorf("%s: proved by a broken backend: %v, listed as the core's own: %v", name, proved[name], !proved[name])
		}
	}
}
