package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// waiting looks at how costs grow with the number of waiters.
func waiting(ctx context.Context, p plan) ([]line, error) {
	return onEach(ctx, func(s service, addr string) ([]line, error) {
		var lines []line
		for _, r := range s.rivals() {
			for _, shape := range p.shapes(r) {
				got, err := cell(ctx, r, shape.waiters*shape.processes, func(ctx context.Context) ([]line, error) {
					return crowded(ctx, p, r, addr, shape)
				})
				if err != nil {
					return nil, err
				}
				lines = append(lines, got...)
			}
		}
		return lines, nil
	})
}

// shapes are the crowds that wait for r: in one process everywhere, and on Redis, where a
// process is a connection or two, each in a process of its own.
func (p plan) shapes(r rival) (all []crowdShape) {
	for _, n := range p.crowds {
		if r.ours() || r.service != "consul" || n <= queries {
			all = append(all, crowdShape{waiters: n, processes: 1})
		}
	}
	for _, n := range p.crowds {
		if r.service == "redis" && n > 1 {
			all = append(all, crowdShape{waiters: 1, processes: n})
		}
	}
	return all
}

// A crowdShape says who waits: so many goroutines in each of so many processes.
type crowdShape struct{ waiters, processes int }

func (s crowdShape) String() string {
	if s.processes == 1 {
		return "waiters in one process"
	}
	return "waiting processes"
}

// A crowd waits for one key.
type crowd struct {
	shape  crowdShape
	key    string
	guard  guard
	begun  atomic.Int64
	mu     sync.Mutex // guards what follows
	grants int
	last   time.Time // grant
}

// crowded lets a crowd wait for a while, looks at what that costs, and then hands it the
// key, one after the other, until all are through or the time is over.
func crowded(ctx context.Context, p plan, r rival, addr string, s crowdShape) (_ []line, err error) {
	c := &crowd{shape: s, key: fmt.Sprintf("bench-rivals-crowd-%d-%d", s.waiters, s.processes)}
	t := new(tally)
	holder, err := r.dial(ctx, addr, p.leaseOf(r), t)
	if err != nil {
		return nil, err
	}
	defer holder.close()
	_, release, err := holder.lock(ctx, c.key)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	var crew sync.WaitGroup
	defer crew.Wait()
	defer cancel()
	failed := make(chan error, s.waiters*s.processes)
	for range s.processes {
		proc, err := r.dial(ctx, addr, p.leaseOf(r), t)
		if err != nil {
			return nil, errors.Join(err, release(ctx))
		}
		defer func() { crew.Wait(); proc.close() }()
		for range s.waiters {
			crew.Go(func() {
				c.begun.Add(1)
				if err := c.turn(wait, proc); err != nil {
					failed <- err
				}
			})
		}
	}
	sent, err := c.watch(ctx, p, r, addr)
	start := time.Now()
	_, rerr := holder.tolerate(ctx, c.key, release(ctx))
	if err = errors.Join(err, rerr); err != nil {
		return nil, err
	}
	through := make(chan struct{})
	go func() { crew.Wait(); close(through) }()
	select {
	case <-through:
	case <-time.After(p.patience):
	case <-ctx.Done():
	}
	lines := c.lines(start, sent)
	cancel()
	<-through
	close(failed)
	for f := range failed {
		err = errors.Join(err, f)
	}
	lines[0] = t.noted(lines[0])
	return lines, errors.Join(err, ctx.Err())
}

// turn is one waiter's.
func (c *crowd) turn(ctx context.Context, one *contender) error {
	token, release, err := one.lock(ctx, c.key)
	at := time.Now()
	if err == nil {
		c.mu.Lock()
		c.grants, c.last = c.grants+1, at
		c.mu.Unlock()
		if err = c.guard.enter(token); err == nil {
			err = c.guard.leave()
		}
		err = errors.Join(err, release(context.WithoutCancel(ctx)))
	}
	if _, err = one.tolerate(ctx, c.key, err); ended(ctx, err) {
		return nil
	}
	return err
}

// watch returns the commands that a second of waiting costs the server, or -1 where they
// are not counted.
func (c *crowd) watch(ctx context.Context, p plan, r rival, addr string) (float64, error) {
	all := int64(c.shape.waiters * c.shape.processes)
	for c.begun.Load() < all {
		if err := sleep(ctx, hold); err != nil {
			return 0, err
		}
	}
	if err := sleep(ctx, p.idle/2); err != nil || r.service != "redis" { // all have asked once
		return -1, err
	}
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	defer rdb.Close()
	start := time.Now()
	_, sum, err := watched(ctx, rdb, func() error { return sleep(ctx, p.idle) })
	return float64(sum.total()) / time.Since(start).Seconds(), err
}

// lines are what was measured until now.
func (c *crowd) lines(start time.Time, sent float64) []line {
	c.mu.Lock()
	defer c.mu.Unlock()
	each := line{Figure: "a hand-over", Unit: nanoseconds}
	if c.grants > 0 {
		each.Value = float64(c.last.Sub(start)) / float64(c.grants)
	}
	each.Plot = "time of a hand-over, by " + c.shape.String()
	lines := []line{each}
	if sent >= 0 {
		lines = append(lines, line{
			Figure: "commands a second, while nothing happens", Value: sent,
			Plot: "server commands a second, by " + c.shape.String(),
		})
	}
	return lines
}
