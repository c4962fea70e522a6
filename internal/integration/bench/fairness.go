package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// contenders is how many processes fairness is among.
const contenders = manyProcesses

// fairness has eight processes take one key as often as they can. Each holds it for 1 ms
// and comes back 1 ms later.
func fairness(ctx context.Context, p plan) ([]line, error) {
	return onEach(ctx, func(s service, addr string) ([]line, error) {
		var lines []line
		for _, r := range s.rivals() {
			got, err := contest(ctx, p, r, addr)
			if err != nil {
				return nil, err
			}
			lines = append(lines, got...)
		}
		return lines, nil
	})
}

// A race is what its processes share. Who has the key alone touches it, or has mu.
type race struct {
	guard    guard
	mu       sync.Mutex
	last     int // who had the key
	released time.Time
	grants   [contenders]float64
	across   record
}

const raceKey = "bench-rivals-fair"

// contest lets the processes of r contend.
func contest(ctx context.Context, p plan, r rival, addr string) ([]line, error) {
	t, c := new(tally), &race{last: -1}
	var fs []func() error
	contest, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range contenders {
		one, err := r.dial(ctx, addr, p.leaseOf(r), t)
		if err != nil {
			return nil, err
		}
		defer one.close()
		if err := one.warm(ctx, p, i); err != nil {
			return nil, err
		}
		fs = append(fs, func() error { return c.contend(contest, i, one) })
	}
	defer time.AfterFunc(p.contest, cancel).Stop()
	if err := all(fs); err != nil {
		return nil, err
	}
	sum := 0.0
	for _, n := range c.grants {
		sum += n
	}
	share := max(sum/contenders, 1)
	lines := []line{
		{Figure: "grants a second", Value: sum / p.contest.Seconds()},
		{Figure: "luckiest, in fair shares", Value: slices.Max(c.grants[:]) / share},
		{Figure: "unluckiest, in fair shares", Value: slices.Min(c.grants[:]) / share},
	}
	if c.across.slices = c.across.all; len(c.across.all) > 0 {
		l := of("hand-over, p50", &c.across)
		lines = append(lines, l, line{Figure: "hand-over, p99", Unit: nanoseconds, Value: c.across.p99()})
	}
	for i := range lines {
		lines[i].Figure = fmt.Sprintf("%d processes, %v: %s", contenders, p.contest, lines[i].Figure)
		lines[i].Service, lines[i].Lock = r.service, r.name
	}
	lines[0] = t.noted(lines[0])
	return lines, nil
}

// contend takes the key again and again, as process i, until ctx ends.
func (c *race) contend(ctx context.Context, i int, one *contender) error {
	for ctx.Err() == nil {
		_, err := one.tolerate(ctx, raceKey, c.turn(ctx, i, one))
		if err == nil {
			err = sleep(ctx, hold)
		}
		if err != nil && !ended(ctx, err) {
			return err
		}
	}
	return nil
}

// turn is one of them. One that is granted after the end does not count.
func (c *race) turn(ctx context.Context, i int, one *contender) error {
	token, release, err := one.lock(ctx, raceKey)
	at := time.Now()
	if err != nil {
		return err
	}
	err = c.guard.enter(token)
	if err != nil {
		return errors.Join(err, release(ctx))
	}
	c.mu.Lock() // only for rivals that let two in
	if ctx.Err() == nil {
		c.grants[i]++
		if c.last >= 0 && c.last != i {
			c.across.all = append(c.across.all, float64(at.Sub(c.released)))
		}
	}
	c.mu.Unlock()
	time.Sleep(hold)
	c.mu.Lock()
	c.last, c.released = i, time.Now()
	c.mu.Unlock()
	err = c.guard.leave()
	return errors.Join(err, release(context.WithoutCancel(ctx)))
}
