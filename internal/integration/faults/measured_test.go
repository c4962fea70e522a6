package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

// A lateness is a histogram of how long after Deadline Done was closed.
type lateness struct {
	quiet, stalled [len(latenessBounds) + 1]int // the second: while the machine stalled
	max            time.Duration                // of quiet
}

// latenessBounds are the upper bounds of the histogram's classes but the last.
var latenessBounds = [...]time.Duration{
	time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, time.Second,
}

// add counts one round.
func (l *lateness) add(d time.Duration, stalled bool) {
	i := 0
	for i < len(latenessBounds) && d > latenessBounds[i] {
		i++
	}
	if stalled {
		l.stalled[i]++
		return
	}
	l.quiet[i]++
	l.max = max(l.max, d)
}

// merge adds other's rounds to l's.
func (l *lateness) merge(other lateness) {
	for i := range l.quiet {
		l.quiet[i] += other.quiet[i]
		l.stalled[i] += other.stalled[i]
	}
	l.max = max(l.max, other.max)
}

func (l lateness) String() string {
	return fmt.Sprintf("%v in classes up to %v and beyond, max %v; %v while the machine stalled", l.quiet, latenessBounds, l.max, l.stalled)
}

// An ending is how a holder comes to an end.
type ending string

const (
	released    ending = "clean release"
	crashed     ending = "crash"
	frozen      ending = "freeze"
	partitioned ending = "partition"
)

// endings are all, in the order of the table.
var endings = []ending{released, crashed, frozen, partitioned}

// A takeOverBound is the documented longest time from a holder's end until the next one
// has the key: so many TTLs, and something more.
type takeOverBound struct {
	ttls int
	plus time.Duration
}

func (b takeOverBound) at(ttl time.Duration) time.Duration {
	return time.Duration(b.ttls)*ttl + b.plus
}

func (b takeOverBound) String() string {
	switch b.ttls {
	case 0:
		return b.plus.String()
	case 1:
		return "TTL + " + b.plus.String()
	}
	return fmt.Sprintf("%d × TTL + %v", b.ttls, b.plus)
}

// Terms of the bounds: a waiter asks at least once a second, and a queue wakes it. Each
// service frees what has expired at its own pace.
const (
	poll          = time.Second
	etcdExpires   = time.Second
	consulExpires = time.Second
	keeperExpires = 2 * servers.ZooKeeperTick
)

// takeOvers are the documented bounds, without lock-delay.
var takeOvers = map[string]map[ending]takeOverBound{
	"etcd":      {released: {0, poll}, crashed: {1, etcdExpires}, frozen: {1, etcdExpires}, partitioned: {1, etcdExpires}},
	"zookeeper": {released: {0, poll}, crashed: {1, keeperExpires}, frozen: {1, keeperExpires}, partitioned: {1, keeperExpires}},
	"consul":    {released: {0, poll}, crashed: {2, consulExpires}, frozen: {2, consulExpires}, partitioned: {2, consulExpires}},
	"postgres":  {released: {0, poll}, crashed: {0, poll}, frozen: {1, poll}, partitioned: {1, poll}},
	"redis":     {released: {0, poll}, crashed: {1, poll}, frozen: {1, poll}, partitioned: {1, poll}},
	"redlock":   {released: {0, poll}, crashed: {1, poll}, frozen: {1, poll}, partitioned: {1, poll}},
}

// slack is what a busy machine may add to a bound, in processes that no sentinel sees;
// and stallWeight is how much more it may add for each second in which a sentinel saw it
// stall: several processes have to run one after the other until a key is taken over.
const (
	slack       = time.Second
	stallWeight = 10
)

// A tally is what was measured of one ending.
type tally struct {
	max     time.Duration
	rounds  int
	stalled int // rounds beyond the bound in which the machine stalled
}

// figures are what tests have measured for the report.
type figures struct {
	mu         sync.Mutex // guards the rest
	latenesses map[string]lateness
	takeOvers  map[string]tally
}

var measured = figures{latenesses: make(map[string]lateness), takeOvers: make(map[string]tally)}

func (m *figures) late(backend string, l lateness) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.latenesses[backend]
	all.merge(l)
	m.latenesses[backend] = all
}

// takeOver counts one round, and fails the test if it took longer than the bound allows
// without the machine having stalled.
func (m *figures) takeOver(t *testing.T, backend string, e ending, machine *sentinel, from, in time.Time) {
	t.Helper()
	allowed, took := takeOvers[backend][e].at(shortTTL), in.Sub(from)
	excuse := stallWeight * machine.stalledFor(from, in)
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.takeOvers[backend+string(e)]
	x.rounds++
	if took > allowed && took <= allowed+excuse {
		x.stalled++
	} else {
		x.max = max(x.max, took)
	}
	m.takeOvers[backend+string(e)] = x
	if took > allowed+slack+excuse {
		t.Errorf("%s: the next holder was in after %v, the bound is %v", e, took, allowed)
	}
}

// takeOverTable returns the bounds and what was measured as Markdown.
func (m *figures) takeOverTable() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	b.WriteString("| backend | the holder's end | bound | at this TTL | measured maximum | rounds | beyond it as the machine stalled |\n|---|---|---|---|---|---|---|\n")
	for _, s := range services {
		for _, e := range endings {
			bound, x := takeOvers[s.name][e], m.takeOvers[s.name+string(e)]
			fmt.Fprintf(&b, "| %s | %s | %v | %v | %v | %d | %d |\n", s.name, e, bound, bound.at(shortTTL), x.max.Round(time.Millisecond), x.rounds, x.stalled)
		}
	}
	return b.String()
}

// latenessTable returns the histograms of Done after Deadline as Markdown.
func (m *figures) latenessTable() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	b.WriteString("| backend |")
	for _, d := range latenessBounds {
		fmt.Fprintf(&b, " ≤ %v |", d)
	}
	b.WriteString(" more | maximum | the same while the machine stalled |\n|---|" + strings.Repeat("---|", len(latenessBounds)+3) + "\n")
	for _, s := range services {
		l := m.latenesses[s.name]
		fmt.Fprintf(&b, "| %s |", s.name)
		for _, n := range l.quiet {
			fmt.Fprintf(&b, " %d |", n)
		}
		stalled := strings.Trim(fmt.Sprint(l.stalled), "[]")
		if !slices.ContainsFunc(l.stalled[:], func(n int) bool { return n > 0 }) {
			stalled = "none"
		}
		fmt.Fprintf(&b, " %v | %s |\n", l.max.Round(time.Microsecond), stalled)
	}
	return b.String()
}
