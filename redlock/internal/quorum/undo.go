package quorum

import (
	"time"

	"github.com/distlock-go/distlock"
)

// A debt is what one node may have of a claim that is over: it is deleted, by
// owner, until the node has answered or its lifetime there is over.
type debt struct {
	set     *Set
	id      debtKey
	request Request
	doubt   bool // it may not be there yet: "not there" is asked again
	missed  int
	failed  int
	expires distlock.Instant
	stop    func() // of the pause; nil while the node is asked. Guarded by Set.mu
}

// recheck are the pauses after which a node that had nothing is asked again:
// the request may still be on its way to it. Together they stay under a second.
var recheck = [...]time.Duration{50 * time.Millisecond, 250 * time.Millisecond, 600 * time.Millisecond}

// A debtKey is what there is one debt of.
type debtKey struct {
	node  int
	key   string
	owner distlock.Owner
}

// undo begins to release at node i.
func (s *Set) undo(i int, r Request, doubt bool) {
	r.Op, r.Wanted = Release, nil
	d := &debt{
		set: s, id: debtKey{i, r.Lock.Key, r.Lock.Owner}, request: r, doubt: doubt,
		expires: s.Clock.Now().Add(r.Lock.Terms.Lifetime()),
	}
	s.mu.Lock()
	if s.debts == nil {
		s.debts = make(map[debtKey]*debt)
	}
	known := s.debts[d.id] != nil
	if !known {
		s.debts[d.id] = d
	}
	s.mu.Unlock()
	if !known {
		d.try()
	}
}

// again is try after a pause, by whichever of the timer and Close comes first.
func (d *debt) again() {
	d.set.mu.Lock()
	first := d.stop != nil
	d.stop = nil
	d.set.mu.Unlock()
	if first {
		d.try()
	}
}

// try asks the node, if an answer can be expected.
func (d *debt) try() {
	if node := d.set.Nodes[d.id.node]; node.Ready() {
		node.Do(d.request, d.answered)
	} else {
		d.answered(Answer{Verdict: Failed})
	}
}

// answered settles the debt or has it tried again.
func (d *debt) answered(a Answer) {
	var pause time.Duration
	settled := false
	switch a.Verdict {
	case Done:
		settled = true
	case Gone:
		d.request.Exact = false
		settled = !d.doubt || d.missed == len(recheck)
		if !settled {
			pause = recheck[d.missed]
			d.missed++
		}
	default:
		d.request.Exact = false
		pause = min(100*time.Millisecond<<min(d.failed, 4), time.Second)
		d.failed++
		settled = d.set.Clock.Now() >= d.expires
	}
	s := d.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if settled || s.closed {
		delete(s.debts, d.id)
		return
	}
	d.stop = s.Clock.After(pause, d.again)
}

// Close lets all that is to be released be tried once more, at once and for the
// last time. What stays then ends with its lifetime.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	var waiting []*debt
	for _, d := range s.debts {
		if d.stop != nil {
			d.stop()
			waiting = append(waiting, d)
		}
	}
	s.mu.Unlock()
	for _, d := range waiting {
		d.again()
	}
}
