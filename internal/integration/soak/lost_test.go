package soak_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/history"
)

// A variant is how workers and the resource take care that no update is lost.
type variant struct {
	name         string
	fence, heeds bool
}

var variants = []variant{
	{"neither", false, false},
	{"fence", true, false},
	{"heeded", false, true},
}

// figures are what came of a variant on a target.
type figures struct {
	target  target
	variant variant
	// Added is how many additions were acknowledged, Lost how many of these are not in
	// their set at the end.
	added, lost int
	refused     int // writes, by the fence
	givenUp     int // additions of a holder that saw that its lease had ended
	stops, hits int // hits are the stops in a section, while which another holder wrote
}

// Stands for: read, change and write under a lock, without more. A nemesis stops random
// workers for longer than their TTL. Without a fence what others write meanwhile is
// overwritten; with it nothing is; and who heeds the loss of its lease loses what it
// overwrites after its last look.
func TestLostUpdates(t *testing.T) {
	var mu sync.Mutex // guards all
	var all []figures
	t.Run("on", func(t *testing.T) {
		forEach(t, func(t *testing.T, tg target, s service) {
			t.Run("with", func(t *testing.T) { // all variants at a time: they mostly wait
				for _, v := range variants {
					t.Run(v.name, func(t *testing.T) {
						t.Parallel()
						f := experiment(t, tg, s, v)
						mu.Lock()
						defer mu.Unlock()
						all = append(all, f)
					})
				}
			})
		})
	})
	fmt.Print(table(all))
}

// experiment lets a nemesis stop workers that add elements until it has hit some of them,
// and for its share of the time.
func experiment(t *testing.T, tg target, s service, v variant) figures {
	const wanted, bound = 3, 3 * time.Minute
	f := figures{target: tg, variant: v}
	r := newResource(v.fence)
	c := newCrew(t, tg, s, r, habits{Keys: 2, Hands: 1, Adds: true, Heeds: v.heeds, Prefix: v.name + "-"})
	hit := make(map[*section]bool)
	begin := time.Now()
	for len(hit) < wanted || time.Since(begin) < share(2, 0) {
		if time.Since(begin) > bound && len(hit) < wanted {
			t.Fatalf("%d stops did not strike: %d hit a section in which another holder wrote, want %d", f.stops, len(hit), wanted)
		}
		if s := stop(c, r); s != nil {
			hit[s] = true
		}
		f.stops++
	}
	f.hits = len(hit)
	ops := c.end()
	f.count(ops)
	f.lost = missing(ops, r)
	reads := r.reads(t)
	// No server is harmed, so all keep what they have granted.
	judge(t, append(ops, reads...), history.Limits{Unfenced: !v.fence})
	if lost := len(history.Lost(append(ops, reads...))); lost != f.lost {
		t.Errorf("the sets lack %d elements, and the history %d", f.lost, lost)
	}
	f.judge(t)
	return f
}

// stop stops a random worker at a random moment. If that is in a section, it is for longer
// than the TTL, and until another holder has written, for as long as that can take. Else
// there is nothing to be seen, and the worker goes on at once. It returns the section if
// another holder has written.
func stop(c *crew, r *Resource) *section {
	pause(c.t.Context(), rand.N(c.target.ttl/2))
	p := c.workers[rand.IntN(len(c.workers))]
	p.signal(syscall.SIGSTOP)
	defer p.signal(syscall.SIGCONT)
	begin := time.Now()
	for time.Since(begin) < 4*c.target.ttl+10*time.Second && r.inside(p.name) {
		if s := r.overtaken(p.name); s != nil && time.Since(begin) > c.target.ttl*3/2 {
			return s
		}
		pause(c.t.Context(), 10*time.Millisecond)
	}
	return nil
}

// count counts what the workers saw.
func (f *figures) count(ops []history.Op) {
	for _, o := range ops {
		switch {
		case o.Kind == history.Write && o.Outcome == history.Done:
			f.added++
		case o.Kind == history.Write && o.Outcome == history.Refused:
			f.refused++
		case o.Kind == history.Look && o.Outcome == history.Refused:
			f.givenUp++
		}
	}
}

// missing returns how many elements were acknowledged and are in no set.
func missing(ops []history.Op, r *Resource) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		if o.Kind == history.Write && o.Outcome == history.Done && !slices.Contains(r.sets[o.Key], o.Value) {
			n++
		}
	}
	return n
}

// judge checks that what the variant says is so. Without a fence a late write need not
// lose an update of its own: another late one can have lost that before.
func (f *figures) judge(t *testing.T) {
	t.Helper()
	switch {
	case f.variant.fence && f.lost > 0:
		t.Errorf("%d updates were lost behind a fence", f.lost)
	case f.variant.fence && f.refused < f.hits:
		t.Errorf("the fence refused %d writes, and %d were late", f.refused, f.hits)
	case f.variant.heeds && f.givenUp == 0:
		t.Errorf("%d were late, and none gave up", f.hits)
	case !f.variant.fence && !f.variant.heeds && f.lost == 0:
		t.Errorf("no update was lost, and %d writes were late: the experiment shows nothing", f.hits)
	}
}

// table returns all figures as Markdown.
func table(all []figures) string {
	var b strings.Builder
	b.WriteString("\n| backend | TTL | with | added | lost | refused as stale | given up by the holder | stops | of these struck |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, tg := range targets {
		for _, v := range variants {
			for _, f := range all {
				if f.target.name == tg.name && f.variant == v {
					fmt.Fprintf(&b, "| %s | %v | %s | %d | %d | %d | %d | %d | %d |\n",
						tg.name, tg.ttl, v.name, f.added, f.lost, f.refused, f.givenUp, f.stops, f.hits)
				}
			}
		}
	}
	return b.String()
}
