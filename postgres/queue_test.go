package postgres

import (
	"testing"
	"time"
)

// pauses are those of the processes 1, 2 and so on, in graces.
func (q *queue) pauses(n uint32) (all []int) {
	for pid := range n {
		all = append(all, int(q.pause(pid+1)/grace))
	}
	return all
}

func TestQueue(t *testing.T) {
	type word struct {
		pid  uint32
		what string
	}
	said := func(times int, w ...word) (all []word) {
		for range times {
			all = append(all, w...)
		}
		return all
	}
	join := func(pids ...uint32) (all []word) {
		for _, pid := range pids {
			all = append(all, word{pid, joins})
		}
		return all
	}
	for name, test := range map[string]struct {
		words []word
		want  [5]int // pauses, in graces
	}{
		"empty":                       {nil, [5]int{0, 0, 0, 0, 0}},
		"first come, first served":    {join(2, 1, 3), [5]int{1, 0, 2, 3, 3}},
		"joins twice":                 {join(2, 1, 2), [5]int{1, 0, 2, 2, 2}},
		"at most three":               {join(5, 4, 3, 2, 1), [5]int{3, 3, 2, 1, 0}},
		"a release ends a place":      {append(join(2, 1, 3), word{2, released}), [5]int{0, 2, 1, 2, 2}},
		"a stranger's ends none":      {append(join(2, 1), word{4, released}), [5]int{1, 0, 2, 2, 2}},
		"who gives up":                {append(join(2, 1, 3), word{2, leaves}), [5]int{0, 2, 1, 2, 2}},
		"who misses its turns":        {append(join(2, 1), said(maxMissed+1, word{4, released})...), [5]int{0, 1, 1, 1, 1}},
		"who misses all but the last": {append(join(2, 1), said(maxMissed, word{4, released})...), [5]int{1, 0, 2, 2, 2}},
		"who takes the last": {
			append(append(join(2, 1, 3), said(maxMissed, word{4, released})...), word{2, released}, word{4, released}),
			[5]int{0, 2, 1, 2, 2},
		},
	} {
		var q queue
		for _, w := range test.words {
			q.hear(w.pid, w.what)
		}
		if got := q.pauses(5); [5]int(got) != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// said drains what a hub has had sent.
func said(calls chan *call) (all []string) {
	for {
		select {
		case c := <-calls:
			all = append(all, c.query)
			c.finish(nil)
		default:
			return all
		}
	}
}

// A place is taken once, given up with the wait, and not with the grant.
func TestHubSaysWhoWaits(t *testing.T) {
	calls := make(chan *call, 100)
	h := newHub(7, func(all ...*call) {
		for _, c := range all {
			calls <- c
		}
	})
	defer h.close()
	const lock, name = 10, "distlock_a"
	check := func(what string, want ...string) {
		t.Helper()
		got := said(calls)
		if len(got) != len(want) {
			t.Fatalf("%s: said %q, want %q", what, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: said %q, want %q", what, got, want)
			}
		}
	}
	join, leave := `NOTIFY "distlock_a", 'joins'`, `NOTIFY "distlock_a", 'leaves'`
	stop := h.watch(lock, func() {})
	check("a wait", `LISTEN "distlock_a"`, join)
	h.hear(name, 7, joins)
	h.refused(lock, time.Now())
	check("a refusal")
	stop()
	check("a wait that was given up", leave)
	h.hear(name, 7, leaves)
	stop = h.watch(lock, func() {})
	check("another wait", join)
	h.granted(lock)
	stop()
	check("a wait with a grant")
	h.hear(name, 7, released)
	stop = h.watch(lock, func() {})
	check("a third wait", join)
	h.hear(name, 7, joins)
	for range maxMissed + 1 {
		h.hear(name, 9, released)
	}
	h.refused(lock, time.Now())
	check("a place that was lost", join)
	stop()
	check("the end", leave)
}

// Who has released a lock that others wait for lets them go first, and who is not
// first in the queue lets those before it.
func TestHubWakesInTurn(t *testing.T) {
	h := newHub(7, func(all ...*call) {
		for _, c := range all {
			c.finish(nil)
		}
	})
	defer h.close()
	const lock, name = 10, "distlock_a"
	woken := make(chan time.Time, 100)
	defer h.watch(lock, func() { woken <- time.Now() })()
	<-woken // it listens
	h.hear(name, 8, joins)
	h.hear(name, 7, joins)
	start := time.Now()
	h.hear(name, 9, released)
	if d := (<-woken).Sub(start); d < grace {
		t.Errorf("woken after %v beside one who came before", d)
	}
	h.hear(name, 8, released)
	<-woken // at once; how soon depends on the machine
	h.hear(name, 8, joins)
	h.hear(name, 7, released)
	<-woken
	start = time.Now()
	h.yield(t.Context(), lock)
	if d := time.Since(start); d < grace {
		t.Errorf("tried again after %v, before one who waits", d)
	}
	start = time.Now()
	h.yield(t.Context(), lock) // once only
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("yielded for %v without a release", d)
	}
}
