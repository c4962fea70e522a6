package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// coreCalls is how many calls are timed at once.
const coreCalls = 1000

// core measures the core without a server.
func core(ctx context.Context, p plan) ([]line, error) {
	c, err := distlock.New(memory.New())
	if err != nil {
		return nil, err
	}
	defer c.Close(context.Background())
	lease, err := c.Acquire(ctx, "bench-held")
	if err != nil {
		return nil, err
	}
	pair := func(ctx context.Context) error {
		l, err := c.Acquire(ctx, "bench-core")
		if err != nil {
			return err
		}
		return l.Release(ctx)
	}
	valid := func(context.Context) error {
		if !lease.Valid() {
			return errors.New("the lease was lost")
		}
		return nil
	}
	a, err := allocations(ctx, pair)
	if err != nil {
		return nil, err
	}
	var pairs, valids record
	err = interleave(ctx, p, repeat(&pairs, nil, thousand(pair)), repeat(&valids, nil, thousand(valid)), &pairs, &valids)
	return []line{
		{Figure: "acquire + release on memory", Unit: nanoseconds, Value: pairs.median() / coreCalls},
		{Figure: "allocations of it", Value: a},
		{Figure: "Valid", Unit: nanoseconds, Value: valids.median() / coreCalls},
	}, err
}

// thousand returns coreCalls calls of op as one.
func thousand(op func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for range coreCalls {
			if err := op(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// allocations returns how many allocations one call of op makes.
func allocations(ctx context.Context, op func(context.Context) error) (float64, error) {
	if err := op(ctx); err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := thousand(op)(ctx)
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / coreCalls), err
}
