package main

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

// nodesAlone compares acquire and release without contention.
func nodesAlone(ctx context.Context, p plan, m *servers.Masters) ([]line, error) {
	var lines []line
	for _, mode := range modes {
		c, err := newRedlockClient(m.Addrs(), &mode.opts)
		if err != nil {
			return nil, err
		}
		defer c.close()
		got, err := besideFloor(ctx, p, m, mode.name, c.once)
		if err != nil {
			return nil, err
		}
		lines = append(lines, got[0].atMost(mode.budget), got[1])
	}
	return lines, nil
}

// besideFloor measures once and the floor by turns.
func besideFloor(ctx context.Context, p plan, m *servers.Masters, name string,
	once func(context.Context, string, *guard) error,
) ([]line, error) {
	q := newQuorumFloor(m.Addrs())
	defer closeNodes(q.nodes)
	var ours, floor, mean, floorMean record
	var a, b guard
	err := interleave(ctx, p,
		repeat(&mean, &ours, func(ctx context.Context) error { return once(ctx, "bench", &a) }),
		repeat(&floorMean, &floor, func(ctx context.Context) error { return q.once(ctx, "bench-floor", &b) }),
		&ours, &floor, &mean, &floorMean)
	return []line{
		compared(name+", acquire + release, p50", &ours, &floor),
		{Figure: name + ", acquire + release, p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
	}, err
}

// nodesBusy compares them under many goroutines on many keys.
func nodesBusy(ctx context.Context, p plan, m *servers.Masters) ([]line, error) {
	c, err := newRedlockClient(m.Addrs(), &modes[0].opts)
	if err != nil {
		return nil, err
	}
	defer c.close()
	q := newQuorumFloor(m.Addrs())
	defer closeNodes(q.nodes)
	var ours, floor record
	err = interleave(ctx, p,
		together(&ours, p.keys, "bench-busy-%d", c.once),
		together(&floor, p.keys, "bench-busy-floor-%d", q.once),
		&ours, &floor)
	figure := fmt.Sprintf("plain, acquire + release, %d goroutines, %d keys", busyWorkers, p.keys)
	return []line{compared(figure, &ours, &floor).atMost(0.8)}, err
}

// sample returns a side that notes what one gives, again and again for d.
func sample(r *record, one func(context.Context) (time.Duration, error)) side {
	return func(ctx context.Context, d time.Duration) error {
		var all []float64
		for start := time.Now(); time.Since(start) < d; {
			took, err := one(ctx)
			if err != nil {
				return err
			}
			all = append(all, float64(took))
		}
		r.times(all)
		return nil
	}
}
