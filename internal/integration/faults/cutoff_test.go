package faults_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// A round is one key's hand-over from a holder who is cut off to the next one.
type round struct {
	lease    *distlock.Lease
	context  <-chan struct{} // the end of the lease's context, as its user sees it
	deadline time.Time
	done     time.Time // when the context ended
	in       time.Time // when the next holder had the key
	signaled bool      // whether the context had ended by then
	valid    bool      // what the lease itself said at that moment
	larger   bool      // whether the next token is larger
}

// Stands for: a holder whose packets are dropped silently goes on working for minutes
// beside its successor, as its client waits for an answer before it looks at the clock.
func TestCutOffHolderEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	s := healthyServer(t)
	link := s.Proxy(t)
	first := locksAt(t, link.Addr(), distlock.WithTTL(ttl))
	next := locksAt(t, s.Addr(), distlock.WithTTL(ttl))
	holders := make([]distlock.Locker, 100)
	for i := range holders {
		holders[i] = first
	}
	cutOff(t, ttl, holders, next, func() { link.Set(proxy.Swallow, proxy.Swallow) })
}

// cutOff lets each holder take a key of its own, cuts them off, and judges how each key
// gets to the next one.
func cutOff(t *testing.T, ttl time.Duration, holders []distlock.Locker, next distlock.Locker, cut func()) {
	t.Helper()
	machine := watchMachine(t)
	all := make([]*round, len(holders))
	var running sync.WaitGroup
	for i, first := range holders {
		r := &round{lease: acquire(t, first, fmt.Sprintf("%s-%d", t.Name(), i))}
		all[i] = r
		r.context = r.lease.Context(t.Context()).Done()
		running.Go(func() { <-r.context; r.done = time.Now() })
		running.Go(func() { r.follow(t, next) })
		pause(ttl / 3 / time.Duration(len(holders))) // so that each is at another point of its renewal
	}
	cut()
	running.Wait()
	var late, gap durations
	excused := 0
	for i, r := range all {
		if err := r.check(machine); err == errStalled {
			excused++
		} else if err != nil {
			t.Errorf("round %d: %v", i, err)
		}
		late, gap = append(late, r.done.Sub(r.deadline)), append(gap, r.in.Sub(r.deadline))
	}
	t.Logf("Done after Deadline: %v; next holder after it: %v; %d of %d rounds not judged by Done, as the machine stalled",
		late, gap, excused, len(all))
	if excused > len(all)/2 {
		t.Errorf("the machine stalled in %d of %d rounds: too many to say anything", excused, len(all))
	}
}

// follow waits for the key as the next holder and then looks at the first one's lease.
func (r *round) follow(t *testing.T, next distlock.Locker) {
	l, err := next.Acquire(within(t, bound), r.lease.Key())
	if err != nil {
		t.Error(err)
		return
	}
	r.in = time.Now()
	r.signaled = isClosed(r.context) // before the lease is asked, which then notices by itself
	r.valid = r.lease.Valid()
	r.deadline = r.lease.Deadline()
	r.larger = l.Token() > r.lease.Token()
	release(t, l)
}

var errStalled = fmt.Errorf("the machine stalled")

// check judges a round.
func (r *round) check(machine *sentinel) error {
	switch {
	case r.in.IsZero():
		return fmt.Errorf("the next holder never came")
	case r.in.Before(r.deadline):
		return fmt.Errorf("the next holder was in %v before the deadline", r.deadline.Sub(r.in))
	case r.valid:
		return fmt.Errorf("the lease said it was valid when the next holder was in")
	case !r.larger:
		return fmt.Errorf("the next token was not larger")
	case r.signaled:
		return nil
	case machine.stalled(r.deadline, r.in):
		return errStalled
	}
	return fmt.Errorf("the context ended %v after the next holder was in", r.done.Sub(r.in))
}
