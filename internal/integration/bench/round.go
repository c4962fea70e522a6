package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

// settleBound is how long processes may take to begin to wait.
const settleBound = 10 * time.Second

// A stage is the processes of a shape, and what was measured with them.
type stage struct {
	shape   shape
	holder  *process
	waiters []*process
	refused []*atomic.Int64 // attempts, of each of the waiters' processes
	guard   guard

	across, inside record
	handOvers      int
	window, whole  commands // between all waiting and the last grant; of whole rounds
}

// newStage connects the processes of s. Close it.
func newStage(addr string, s shape) (*stage, error) {
	holder, err := newProcess(addr)
	if err != nil {
		return nil, err
	}
	st := &stage{shape: s, holder: holder, window: make(commands), whole: make(commands)}
	for range s.processes {
		n := new(atomic.Int64)
		p, err := newProcess(addr, distlock.WithTrace(&distlock.Trace{
			Attempted: func(_ context.Context, i distlock.AttemptInfo) {
				if errors.Is(i.Err, distlock.ErrHeld) {
					n.Add(1)
				}
			},
		}))
		if err != nil {
			st.close()
			return nil, err
		}
		st.waiters, st.refused = append(st.waiters, p), append(st.refused, n)
	}
	return st, nil
}

func (st *stage) close() {
	for _, p := range append(st.waiters, st.holder) {
		_ = p.close() // nothing is held any more
	}
}

// forget drops what was counted; the records are dropped by interleave.
func (st *stage) forget() {
	st.handOvers, st.window, st.whole = 0, make(commands), make(commands)
}

// slice is distlock's side: rounds for about d.
func (st *stage) slice(ctx context.Context, d time.Duration) error {
	if len(st.across.slices) == 0 { // the first that counts, or the warm-up
		st.forget()
	}
	var across, inside []float64
	for start := time.Now(); time.Since(start) < d; {
		r := &round{stage: st, start: time.Now()}
		if err := r.run(ctx); err != nil {
			return err
		}
		across, inside = append(across, r.across...), append(inside, r.inside...)
		st.handOvers += len(r.across) + len(r.inside)
	}
	st.across.times(across)
	st.inside.times(inside)
	return nil
}

// A round begins with the holder's lease and ends when all are through.
type round struct {
	stage    *stage
	start    time.Time
	begun    atomic.Int64            // calls of Acquire
	from     atomic.Pointer[process] // who released last
	released atomic.Int64            // and when, since start

	mu             sync.Mutex // guards all below
	grants         int
	across, inside []float64 // nanoseconds
	before         commands
}

func (r *round) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st := r.stage
	first, err := executed(ctx, st.holder.rdb)
	if err != nil {
		return err
	}
	l, err := st.holder.lock.Acquire(ctx, handOverKey)
	if err != nil {
		return err
	}
	if err := st.guard.enter(l.Token()); err != nil {
		return err
	}
	fs := []func() error{func() error { return r.lead(ctx, l) }}
	for _, n := range st.refused {
		n.Store(0)
	}
	for _, p := range st.waiters {
		for range st.shape.waiters {
			fs = append(fs, func() error { return worker{r, p}.run(ctx) })
		}
	}
	for i, f := range fs { // who fails ends the others' waiting
		fs[i] = func() error {
			err := f()
			if err != nil {
				cancel()
			}
			return err
		}
	}
	if err := all(fs); err != nil {
		return err
	}
	last, err := executed(ctx, st.holder.rdb)
	last.since(first, st.whole)
	return err
}

// lead is the holder: it releases when all wait.
func (r *round) lead(ctx context.Context, l *distlock.Lease) error {
	err := r.settle(ctx)
	if err == nil {
		time.Sleep(hold)
		r.before, err = executed(ctx, r.stage.holder.rdb)
	}
	w := worker{r, r.stage.holder}
	if err = errors.Join(err, w.give(ctx, l)); err != nil || !r.stage.shape.again {
		return err
	}
	time.Sleep(hold)
	return w.run(ctx)
}

// settle waits until all waiters have called, and one of each process has been refused.
func (r *round) settle(ctx context.Context) error {
	st := r.stage
	settled := func() bool {
		for _, n := range st.refused {
			if n.Load() == 0 {
				return false
			}
		}
		return r.begun.Load() == int64(st.shape.processes*st.shape.waiters)
	}
	for start := time.Now(); !settled(); {
		if time.Since(start) > settleBound {
			return errors.New("the waiters do not wait")
		}
		if err := sleep(ctx, hold/10); err != nil {
			return err
		}
	}
	return nil
}

// granted notes p's grant and reports whether the round goes on after it.
func (r *round) granted(ctx context.Context, p *process, l *distlock.Lease, at time.Time) (bool, error) {
	st := r.stage
	took := float64(at.Sub(r.start)) - float64(r.released.Load())
	from := r.from.Load()
	if err := st.guard.enter(l.Token()); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants++
	switch {
	case r.grants > st.shape.grants: // the round is over, this one only came too late
		return false, nil
	case from != p:
		r.across = append(r.across, took)
	case st.shape.waiters > 1:
		r.inside = append(r.inside, took)
	}
	if r.grants < st.shape.grants {
		return true, nil
	}
	now, err := executed(ctx, st.holder.rdb)
	if err == nil {
		now.since(r.before, st.window)
	}
	return false, err
}
