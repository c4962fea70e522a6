package main

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
)

// consulHeld looks at what leases cost while nothing happens to them.
func consulHeld(ctx context.Context, p plan, addr string) ([]line, error) {
	const leases = 1000
	proc, err := newConsulProcess(addr, distlock.WithTTL(10*time.Second))
	if err != nil {
		return nil, err
	}
	defer proc.close()
	err = eachOf(2*busyWorkers, func(i int) error {
		return proc.once(ctx, fmt.Sprintf("bench-warm-%d", i), new(guard))
	})
	if err != nil {
		return nil, err
	}
	keys, held := heldKeys("bench-held-%d", leases), make([]*distlock.Lease, leases)
	heap, goroutines := usage()
	err = eachOf(leases, func(i int) (err error) {
		held[i], err = proc.lock.Acquire(ctx, keys[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	heap2, goroutines2 := usage()
	before := proc.sent.Load()
	if err := sleep(ctx, time.Duration(p.watch*float64(10*time.Second))); err != nil {
		return nil, err
	}
	sent := proc.sent.Load() - before
	for _, l := range held {
		if !l.Valid() {
			return nil, l.Err()
		}
	}
	return []line{
		line{Figure: "heap of a held lease", Unit: "B", Value: float64(heap2-heap) / leases}.atMost(1024),
		line{Figure: "goroutines of a held lease", Value: float64(goroutines2-goroutines) / leases}.atMost(0.01),
		line{Figure: "requests for 1000 leases in one TTL of 10 s", Value: float64(sent) / p.watch}.atMost(4),
	}, nil
}
