package quorum_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

// base is a world in which everything goes wrong that the protocol must bear:
// delays, drops, duplicates, nodes that stop and come back, clients that are
// paused and crash.
var base = scenario{
	clients: 3, quorum: quorum.Majority(nodes), fenced: true, ttl: time.Second,
}

func (s scenario) with(change func(*scenario)) scenario {
	change(&s)
	return s
}

// holds are worlds in which the promise must hold, and how many steps of each
// are explored: more than a million together.
var holds = []struct {
	name  string
	steps int
	scenario
}{
	{"clocks far apart", 300_000, base.with(func(s *scenario) { s.offset = time.Hour })},
	{"clocks that step, so that grants expire at any time", 300_000, base.with(func(s *scenario) {
		s.offset, s.steps = 3*time.Second, true
	})},
	{"one node loses its data, clocks apart by less than the time between grants", 400_000, base.with(func(s *scenario) {
		s.lossy, s.offset, s.gap = 1, 20*time.Millisecond, 60*time.Millisecond
	})},
	{"every node loses its data and keeps away for one lifetime", 200_000, base.with(func(s *scenario) {
		s.fenced, s.lossy, s.offset, s.delay = false, nodes, time.Hour, time.Second
	})},
	{"without tokens", 150_000, base.with(func(s *scenario) { s.fenced, s.offset = false, time.Hour })},
}

// breaks are worlds in which something is missing, and what is to be found.
var breaks = []struct {
	name string
	scenario
}{
	{"one node loses its data, and clocks are far apart", base.with(func(s *scenario) {
		s.lossy, s.offset = 1, time.Hour
	})},
	{"the token is not written back", base.with(func(s *scenario) { s.offset, s.noWriteBack = time.Hour, true })},
	{"owners are not compared", base.with(func(s *scenario) { s.noOwner = true })},
	{"a minority suffices", base.with(func(s *scenario) { s.quorum = 2 })},
	{"a minority suffices, without tokens", base.with(func(s *scenario) { s.quorum, s.fenced = 2, false })},
}

// runs is in how many worlds the steps are parted, each with a seed of its own.
const runs = 20

func TestPromiseHoldsWhereItsAssumptionDoes(t *testing.T) {
	t.Parallel()
	for _, c := range holds {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			steps, grants := 0, 0
			for seed := range uint64(runs) {
				w := newWorld(c.scenario, seed)
				w.run(c.steps / runs)
				for _, v := range w.wrong {
					t.Errorf("seed %d: %s", seed, v)
				}
				steps, grants = steps+w.steps, grants+len(w.grants)
			}
			t.Logf("%d steps, %d grants", steps, grants)
			if steps < c.steps || grants < steps/1000 {
				t.Errorf("got %d steps with %d grants, want %d and at least one in a thousand", steps, grants, c.steps)
			}
		})
	}
}

func TestViolationIsFoundWhereSomethingIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range breaks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			for seed := range uint64(runs) {
				w := newWorld(c.scenario, seed)
				w.run(20_000)
				steps += w.steps
				if len(w.wrong) > 0 {
					t.Logf("seed %d, %d steps in all: %s", seed, steps, w.wrong[0])
					return
				}
			}
			t.Errorf("nothing was found in %d steps", steps)
		})
	}
}

// With delays that stay under the time for which what is late is looked for,
// and without crashes, nothing of any attempt outlives its end by a second,
// although a grant lives for ten: the late ones of lost rounds are undone.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := base.with(func(s *scenario) { s.calm, s.ttl, s.offset = true, 10*time.Second, time.Hour })
	for seed := range uint64(runs) {
		w := newWorld(s, seed)
		w.run(5000)
		w.healed = true
		w.runFor(s.ttl) // all have ended their leases
		for _, n := range w.nodes {
			if n.Owner != (distlock.Owner{}) {
				t.Errorf("seed %d: %s has the key for somebody", seed, (&link{n, nil}).Name())
			}
		}
		if len(w.wrong) > 0 || len(w.grants) < 20 {
			t.Errorf("seed %d: got %d grants, %v", seed, len(w.grants), w.wrong)
		}
	}
}

func TestSimulationCanBeRepeated(t *testing.T) {
	t.Parallel()
	digest := func(seed uint64) uint64 {
		w := newWorld(holds[0].scenario, seed)
		w.run(20_000)
		return w.digest
	}
	if a, b := digest(7), digest(7); a != b {
		t.Errorf("two runs from one seed differ: %x, %x", a, b)
	}
	if a, b := digest(7), digest(8); a == b {
		t.Errorf("runs from two seeds are the same: %x", a)
	}
}
