package main

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// settled is how long a waiter has been waiting when it is handed the key: by then it
// listens.
const settled = 20 * time.Millisecond

// nodesHandOver measures the time from the call of Release by one process to the return
// of Acquire in another, which waits.
func nodesHandOver(ctx context.Context, p plan, m *servers.Masters) ([]line, error) {
	refused := make(chan struct{}, 1)
	holder, err := newRedlockClient(m.Addrs(), &modes[0].opts)
	if err != nil {
		return nil, err
	}
	defer holder.close()
	waiter, err := newRedlockClient(m.Addrs(), &modes[0].opts, distlock.WithTrace(&distlock.Trace{
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			if errors.Is(i.Err, distlock.ErrHeld) {
				select {
				case refused <- struct{}{}:
				default:
				}
			}
		},
	}))
	if err != nil {
		return nil, err
	}
	defer waiter.close()
	a, b := newQuorumFloor(m.Addrs()), newQuorumFloor(m.Addrs())
	defer closeNodes(a.nodes)
	defer closeNodes(b.nodes)
	var ours, floor record
	var g, fg guard
	err = interleave(ctx, p,
		sample(&ours, func(ctx context.Context) (time.Duration, error) {
			return handOverOnce(ctx, holder, waiter, refused, &g)
		}),
		sample(&floor, func(ctx context.Context) (time.Duration, error) { return floorHandOver(ctx, a, b, &fg) }),
		&ours, &floor)
	return []line{
		compared("plain, hand-over, 1 waiter, p50", &ours, &floor).atMost(2),
		{Figure: "plain, hand-over, 1 waiter, p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
	}, err
}

// handOverOnce hands the key from holder to waiter.
func handOverOnce(ctx context.Context, holder, waiter *redlockClient, refused <-chan struct{}, g *guard) (time.Duration, error) {
	l, err := holder.lock.Acquire(ctx, handOverKey)
	if err != nil {
		return 0, err
	}
	if err := g.enter(l.Token()); err != nil {
		return 0, err
	}
	type grant struct {
		lease *distlock.Lease
		at    time.Time
		err   error
	}
	granted := make(chan grant, 1)
	go func() { // ends with the grant
		l, err := waiter.lock.Acquire(ctx, handOverKey)
		granted <- grant{l, time.Now(), err}
	}()
	<-refused
	time.Sleep(settled)
	for len(refused) > 0 { // attempts that the beginning of the subscription caused
		<-refused
	}
	err = g.leave()
	start := time.Now()
	err = errors.Join(err, l.Release(ctx))
	next := <-granted
	if err = errors.Join(err, next.err); err != nil {
		return 0, err
	}
	err = errors.Join(g.enter(next.lease.Token()), g.leave(), next.lease.Release(ctx))
	return next.at.Sub(start), err
}

// floorHandOver releases by one and acquires by the other, in sequence.
func floorHandOver(ctx context.Context, a, b *quorumFloor, g *guard) (time.Duration, error) {
	first, err := a.acquire(ctx, handOverFloor)
	if err = errors.Join(err, g.enter(0)); err != nil {
		return 0, err
	}
	time.Sleep(settled)
	err = g.leave()
	start := time.Now()
	err = errors.Join(err, a.release(ctx, handOverFloor, first))
	second, aerr := b.acquire(ctx, handOverFloor)
	took := time.Since(start)
	return took, errors.Join(err, aerr, g.enter(0), g.leave(), b.release(ctx, handOverFloor, second))
}
