package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
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

// handOffs are keys that holders have and a next one waits for.
type handOffs struct {
	t       *testing.T
	rounds  []*round
	running sync.WaitGroup
	told    sync.Map // keys that the next one knows to be held
}

// newHandOffs has each of holders hold a key of its own, and next wait for all of them. It
// returns when all waits have been told that the key is held. The holders' renewals are at
// different points of their period, which is a third of ttl.
func newHandOffs(t *testing.T, ttl time.Duration, holders []distlock.Locker, next func(distlock.Option) *distlock.Client) *handOffs {
	t.Helper()
	h := &handOffs{t: t}
	waiter := next(distlock.WithTrace(tellHeld(&h.told)))
	for i, first := range holders {
		r := &round{lease: insist(t, first, fmt.Sprintf("%s-%d", keyOf(t), i))}
		h.rounds = append(h.rounds, r)
		r.context = r.lease.Context(t.Context()).Done()
		h.running.Go(func() { r.watch(t) })
		h.running.Go(func() { r.follow(t, waiter) })
		pause(ttl / 3 / time.Duration(len(holders)))
	}
	eventually(t, bound, "all wait", func() bool {
		return !slices.ContainsFunc(h.rounds, func(r *round) bool {
			_, told := h.told.Load(r.lease.Key())
			return !told && !isClosed(r.context) // which a stall of the machine has ended
		})
	})
	return h
}

// tellHeld returns a trace that notes in told which keys a client knows to be held.
func tellHeld(told *sync.Map) *distlock.Trace {
	return &distlock.Trace{Attempted: func(_ context.Context, i distlock.AttemptInfo) {
		if isHeld(i.Err) {
			told.Store(i.Key, true)
		}
	}}
}

// watch waits for the end of the lease's context.
func (r *round) watch(t *testing.T) {
	select {
	case <-r.context:
		r.done = time.Now()
	case <-time.After(3 * bound):
		t.Errorf("the context of the lease for %s has not ended after %v", r.lease.Key(), 3*bound)
	}
}

// follow waits for the key as the next holder and then looks at the first one's lease.
func (r *round) follow(t *testing.T, next distlock.Locker) {
	ctx := within(t, 4*bound)
	l, err := next.Acquire(ctx, r.lease.Key())
	for err != nil && ctx.Err() == nil { // the machine stalls, and a call has no answer
		l, err = next.Acquire(ctx, r.lease.Key())
	}
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

// check waits until all keys have changed hands, and judges how. It returns how late Done
// came, with the rounds apart in which the machine stalled between Deadline and Done.
func (h *handOffs) check(machine *sentinel) (late lateness) {
	h.t.Helper()
	h.running.Wait()
	var gap durations
	excused := 0
	for i, r := range h.rounds {
		if err := r.check(machine); err == errStalled {
			excused++
		} else if err != nil {
			h.t.Errorf("round %d: %v", i, err)
		}
		late.add(r.done.Sub(r.deadline), machine.stalled(r.deadline, r.done))
		gap = append(gap, r.in.Sub(r.deadline))
	}
	h.t.Logf("Done after Deadline: %v; next holder after it: %v; %d of %d rounds not judged by Done, as the machine stalled",
		late, gap, excused, len(h.rounds))
	if excused > len(h.rounds)/2 {
		h.t.Errorf("the machine stalled in %d of %d rounds: too many to say anything", excused, len(h.rounds))
	}
	return late
}

var errStalled = errors.New("the machine stalled")

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

// waitFor has a client of its own wait for key, through outages too, and returns when it
// has been told that the key is held, or has it, as a stall has ended the holder's lease.
func waitFor(t *testing.T, s *service, addrs []string, key string) *waiting {
	t.Helper()
	var told sync.Map
	locks := s.locks(t, addrs, distlock.WithTrace(tellHeld(&told)))
	w := &waiting{result: make(chan *distlock.Lease, 1)}
	ctx := within(t, 20*bound)
	go func() { // ends with the test at the latest
		for ctx.Err() == nil {
			if l, err := locks.Acquire(ctx, key); err == nil {
				w.result <- l
				return
			}
		}
	}()
	eventually(t, 2*bound, "it is told that the key is held", func() bool {
		_, held := told.Load(key)
		return held || len(w.result) > 0
	})
	return w
}
