package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// hold is how long everybody has the key.
	hold = time.Millisecond
	// manyProcesses is the number of waiting processes in the last part.
	manyProcesses = 8
	handOverKey   = "bench-hand-over"
	handOverFloor = "bench-hand-over-floor"
)

// handOver measures the time from one holder's release to the next one's grant.
func handOver(ctx context.Context, p plan) ([]line, error) {
	var lines []line
	for _, n := range p.waiters {
		got, err := handOverTo(ctx, p, shape{processes: 1, waiters: n, grants: n})
		if err != nil {
			return nil, err
		}
		lines = append(lines, got...)
	}
	got, err := handOverTo(ctx, p, shape{
		processes: manyProcesses, waiters: 1, grants: manyProcesses * p.turns, again: true,
	})
	return append(lines, got...), err
}

// A shape says who waits in a round.
type shape struct {
	processes, waiters int  // waiters in each
	grants             int  // of one round, without the first holder's
	again              bool // come back until there were so many
}

func (s shape) String() string {
	switch {
	case s.processes > 1:
		return fmt.Sprintf("%d processes", s.processes)
	case s.waiters == 1:
		return "1 waiter"
	}
	return fmt.Sprintf("%d waiters", s.waiters)
}

// handOverTo compares one shape with the floor.
func handOverTo(ctx context.Context, p plan, s shape) ([]line, error) {
	st, err := newStage(p.addr, s)
	if err != nil {
		return nil, err
	}
	defer st.close()
	var floor record
	a, b := st.holder.rdb, st.waiters[0].rdb
	err = interleave(ctx, p, st.slice, floorHandOvers(&floor, a, b), &st.across, &st.inside, &floor)
	if err != nil {
		return nil, err
	}
	return st.lines(&floor), nil
}

// lines are the figures of one shape.
func (st *stage) lines(floor *record) []line {
	var lines []line
	add := func(where string, r *record) {
		name := fmt.Sprintf("%s, %v", where, st.shape)
		lines = append(lines,
			compared(name+", p50", r, floor).atMost(1.3),
			line{Figure: name + ", p99", Unit: nanoseconds, Value: r.p99(), Floor: floor.p99()})
	}
	add("across", &st.across)
	if len(st.inside.slices) > 0 {
		add("inside", &st.inside)
	}
	n := float64(max(st.handOvers, 1))
	sent := line{Figure: fmt.Sprintf("commands sent, %v", st.shape), Value: float64(st.window.sent()) / n}
	if st.shape.processes == 1 {
		sent = sent.atMost(3)
	} else {
		lines[0].Budget = nil
	}
	return append(lines, sent,
		line{Figure: fmt.Sprintf("commands sent, %v, all in", st.shape), Value: float64(st.whole.sent()) / n},
		line{Figure: fmt.Sprintf("commands executed, %v, scripts' calls included", st.shape), Value: float64(st.window.total()) / n})
}

// floorHandOvers releases by one client and acquires by another, in sequence.
func floorHandOvers(r *record, a, b *goredis.Client) side {
	var g guard
	once := func(ctx context.Context) (took time.Duration, err error) {
		if err := errors.Join(floorAcquire(ctx, a, handOverFloor), g.enter(0)); err != nil {
			return 0, err
		}
		time.Sleep(hold)
		err = g.leave()
		start := time.Now()
		err = errors.Join(err, floorRelease(ctx, a, handOverFloor, floorOwner), floorAcquire(ctx, b, handOverFloor))
		took = time.Since(start)
		err = errors.Join(err, g.enter(0))
		return took, errors.Join(err, g.leave(), floorRelease(ctx, b, handOverFloor, floorOwner))
	}
	return func(ctx context.Context, d time.Duration) error {
		var all []float64
		for start := time.Now(); time.Since(start) < d; {
			took, err := once(ctx)
			if err != nil {
				return err
			}
			all = append(all, float64(took))
		}
		r.times(all)
		return nil
	}
}

// A worker is one goroutine of a process that wants the key.
type worker struct {
	round *round
	proc  *process
}

// run acquires and releases, once or until the round is over.
func (w worker) run(ctx context.Context) error {
	for {
		w.round.begun.Add(1)
		l, err := w.proc.lock.Acquire(ctx, handOverKey)
		at := time.Now()
		if err != nil {
			return err
		}
		more, err := w.round.granted(ctx, w.proc, l, at)
		if err != nil || !more {
			return errors.Join(err, w.give(ctx, l))
		}
		time.Sleep(hold)
		if err := w.give(ctx, l); err != nil || !w.round.stage.shape.again {
			return err
		}
		time.Sleep(hold)
	}
}

// give notes who releases l, and when, and does it.
func (w worker) give(ctx context.Context, l *distlock.Lease) error {
	err := w.round.stage.guard.leave()
	w.round.from.Store(w.proc)
	w.round.released.Store(int64(time.Since(w.round.start)))
	return errors.Join(err, l.Release(ctx))
}

// all runs fs side by side and returns their errors.
func all(fs []func() error) error {
	var running sync.WaitGroup
	errs := make([]error, len(fs))
	for i, f := range fs {
		running.Go(func() { errs[i] = f() })
	}
	running.Wait()
	return errors.Join(errs...)
}
