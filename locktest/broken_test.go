package locktest_test

import (
	"cmp"
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
const sideBySide = 6

// TestBroken proves that the suite finds what it is there for: each fault
// makes its rows fail, and no others. All rows run on all of them, and then
// those that surprise once more, by themselves: a busy machine may have paused
// for longer than a TTL.
func TestBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	all := brokenBackends()
	surprises := make([][]string, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for i, b := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			surprises[i], _ = b.surprises(t, b.rows()...)
		})
	}
	wg.Wait()
	for i, b := range all {
		t.Run(b.name, func(t *testing.T) {
			rows, said := surprises[i], map[string]string(nil)
			for range 3 {
				if len(rows) == 0 {
					return
				}
				rows, said = b.surprises(t, rows...)
			}
			for _, name := range rows {
				t.Errorf("%s on a backend that breaks rule %s, and no other: %s", name, b.rule,
					cmp.Or(said[name], "passes, and should fail"))
			}
		})
	}
}

// rows are what is to be run on b; none are all.
func (b *broken) rows() []string {
	if b.most {
		return b.fails
	}
	return nil
}

// harness describes a new service with the fault of b.
func (b *broken) harness() locktest.Harness {
	h := newService(b.fault).harness(shortest)
	if b.keeper != nil {
		h = b.keeper.harness()
	}
	h.Cancels, h.Rounds = 40, 40
	if !slices.Contains(b.fails, "release-reply-lost") {
		h.Without["release-reply-lost"] = "it takes 5 s"
	}
	return h
}

// surprises runs rows, or all of them, and returns those that did what b does
// not say, and what the failures among them said.
func (b *broken) surprises(t *testing.T, rows ...string) ([]string, map[string]string) {
	failures := locktest.Failures(t, b.harness(), rows...)
	var names []string
	for _, name := range b.fails {
		if _, ok := failures[name]; !ok && (len(rows) == 0 || slices.Contains(rows, name)) {
			names = append(names, name)
		}
	}
	for name := range failures {
		if !slices.Contains(b.fails, name) && !slices.Contains(b.may, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, failures
}

// coresOwn are rows about what the core does by itself: no fault of a backend
// makes them fail and leaves the others in peace. The core's own tests prove
// them.
var coresOwn = []string{
	"wait-woken-in-client", "wait-first-come-first-served", "ended-context-sends-nothing", "token-in-context",
	"deadline-within-ttl", "loss-then-release", "release-twice", "release-together", "release-spares-later-lease",
	"release-stops-renewal", "cut-off-close-ends", "close-awaits-do", "do-reports-loss", "input-keys",
}

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
