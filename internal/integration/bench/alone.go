package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// alone compares acquire and release without contention.
func alone(ctx context.Context, p plan) ([]line, error) {
	proc, err := newProcess(p.addr)
	if err != nil {
		return nil, err
	}
	defer proc.close()
	// A virtual machine wakes an idle processor now in 5 µs, now in 50, and stays at
	// either for a while: long slices of two sides would meet different ones.
	p.pairs, p.slice = p.pairs*10, p.slice/10
	var ours, scripts, inScript, floor, mean, scriptsMean, inScriptMean, floorMean record
	var a, b, c, d guard
	err = inTurn(ctx, p, []side{
		repeat(&mean, &ours, func(ctx context.Context) error { return proc.once(ctx, "bench-alone", &a) }),
		repeat(&scriptsMean, &scripts, func(ctx context.Context) error { return proc.scriptsOnce(ctx, "bench-scripts", &b) }),
		repeat(&inScriptMean, &inScript, func(ctx context.Context) error { return proc.setInScriptOnce(ctx, "bench-in-script", &c) }),
		repeat(&floorMean, &floor, func(ctx context.Context) error { return proc.floorOnce(ctx, "bench-floor", &d) }),
	}, &ours, &scripts, &inScript, &floor, &mean, &scriptsMean, &inScriptMean, &floorMean)
	return []line{
		compared("acquire + release, p50", &ours, &floor).atMost(1.15),
		compared("the two scripts by hand, p50", &scripts, &floor),
		compared("the floor with its SET in a script, p50", &inScript, &floor),
		{Figure: "acquire + release, p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
		compared("acquire + release, mean", &mean, &floorMean),
	}, err
}

// once acquires key, enters and leaves g, and releases.
func (p *process) once(ctx context.Context, key string, g *guard) error {
	l, err := p.lock.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(l.Token()), g.leave(), l.Release(ctx))
}

func (p *process) floorOnce(ctx context.Context, key string, g *guard) error {
	if err := floorAcquire(ctx, p.rdb, key); err != nil {
		return err
	}
	return errors.Join(g.enter(0), g.leave(), floorRelease(ctx, p.rdb, key, floorOwner))
}

// busyWorkers is the number of goroutines of busy.
const busyWorkers = 20

// busy compares them under many goroutines on many keys.
func busy(ctx context.Context, p plan) ([]line, error) {
	proc, err := newProcess(p.addr)
	if err != nil {
		return nil, err
	}
	defer proc.close()
	var ours, scripts, inScript, floor record
	err = inTurn(ctx, p, []side{
		together(&ours, p.keys, "bench-busy-%d", proc.once),
		together(&scripts, p.keys, "bench-busy-scripts-%d", proc.scriptsOnce),
		together(&inScript, p.keys, "bench-busy-in-script-%d", proc.setInScriptOnce),
		together(&floor, p.keys, "bench-busy-floor-%d", proc.floorOnce),
	}, &ours, &scripts, &inScript, &floor)
	by := fmt.Sprintf(", %d goroutines, %d keys", busyWorkers, p.keys)
	return []line{
		compared("acquire + release"+by, &ours, &floor).atMost(0.8),
		compared("the two scripts by hand"+by, &scripts, &floor),
		compared("the floor with its SET in a script"+by, &inScript, &floor),
	}, err
}

// together returns a side of busyWorkers goroutines that run op on keys drawn at
// random. They end with the slice.
func together(r *record, n int, format string, op func(context.Context, string, *guard) error) side {
	keys, guards := make([]string, n), make([]guard, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(format, i)
	}
	return func(ctx context.Context, d time.Duration) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var workers sync.WaitGroup
		var done atomic.Int64
		start := time.Now()
		for range busyWorkers {
			workers.Go(func() {
				for time.Since(start) < d && ctx.Err() == nil {
					i := rand.N(n)
					if err := op(ctx, keys[i], &guards[i]); err != nil {
						cancel(err)
						return
					}
					done.Add(1)
				}
			})
		}
		workers.Wait()
		r.perOp(time.Since(start), int(done.Load()))
		return context.Cause(ctx)
	}
}
