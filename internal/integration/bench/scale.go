package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

// scale looks at how the costs of held leases grow with their number.
func scale(ctx context.Context, p plan) ([]line, error) {
	return onEach(ctx, func(s service, addr string) ([]line, error) {
		var lines []line
		for _, r := range s.rivals() {
			for _, n := range p.sizes {
				if n > r.most() {
					continue
				}
				got, err := cell(ctx, r, n, func(ctx context.Context) ([]line, error) {
					return holdMany(ctx, p, r, addr, n)
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

// most is how many leases are held at a time: 100,000 where the service takes them in
// seconds, and of peers that cost a session or a connection each, fewer.
func (r rival) most() int {
	switch {
	case r.service == "memory" || r.service == "redis" && r.ours():
		return 100_000
	case r.service == "redis" || r.ours():
		return 10_000
	case r.service == "consul":
		return queries
	}
	return 1_000
}

// queries is how many locks of a peer can be held or waited for on Consul: each keeps a
// blocking query, and an agent has room for 200 connections of one address.
const queries = 100

// scaleTTL is that of n leases. Most of the time goes by while they are looked at for one TTL.
func (p plan) scaleTTL(r rival, n int) time.Duration {
	if n >= 100_000 {
		return max(distlock.DefaultTTL, p.brief)
	}
	return max(p.brief, leastTTL[r.service])
}

// holdMany has n leases held for p.watch of a TTL.
func holdMany(ctx context.Context, p plan, r rival, addr string, n int) (_ []line, err error) {
	ttl := p.scaleTTL(r, n)
	t := new(tally)
	c, err := r.dial(ctx, addr, ttl, t)
	if err != nil {
		return nil, err
	}
	defer c.close()
	keys := heldKeys("bench-rivals-held-%d", n)
	// Buffers and connections are made, and the goroutines that serve all, before the
	// heap is looked at.
	err = eachOf(2*busyWorkers, func(i int) error { return c.warm(ctx, p, i) })
	if err != nil {
		return nil, err
	}
	over, cancel := context.WithCancel(ctx)
	defer cancel()
	first, err := c.hold(over, "bench-rivals-warm", ttl)
	if err != nil {
		return nil, err
	}
	releases := make([]func(context.Context) error, n)
	heap, goroutines := usage()
	start := time.Now()
	err = eachOf(n, func(i int) (err error) {
		releases[i], err = c.hold(over, keys[i], ttl)
		return err
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	heap2, goroutines2 := usage()
	var w watch
	if err := w.over(ctx, r, c, addr, time.Duration(p.watch*float64(ttl))); err != nil {
		return nil, err
	}
	cancel()
	if !r.ours() { // whose Close does it
		err = eachOf(n, func(i int) error {
			_, err := c.tolerate(ctx, keys[i], releases[i](ctx))
			return err
		})
		_, ferr := c.tolerate(ctx, "bench-rivals-warm", first(ctx))
		err = errors.Join(err, ferr)
	} else if c.lost.Load() > 0 {
		err = fmt.Errorf("%d leases were lost", c.lost.Load())
	}
	each := float64(n)
	lines := []line{
		{Figure: "acquire, 20 goroutines", Unit: nanoseconds, Value: float64(took) / each},
		{Figure: "heap of a held lease", Unit: "B", Value: max(float64(heap2-heap)/each, 0)},
		{Figure: "goroutines", Value: float64(goroutines2 - goroutines)},
		{Figure: "client CPU in a TTL", Unit: nanoseconds, Value: w.cpu / p.watch},
	}
	if w.commands >= 0 {
		lines = append(lines, line{Figure: "commands in a TTL", Value: w.commands / p.watch})
	} else if r.ours() && r.service != "memory" {
		lines = append(lines, line{Figure: "renewals in a TTL", Value: w.renewals / p.watch})
	}
	for i := range lines {
		lines[i].Plot = lines[i].Figure + ", by leases held"
	}
	lines[0] = t.noted(lines[0])
	return lines, err
}

// hold acquires key and has it renewed until over ends, by hand where the rival does not
// do so by itself: as a user would, by a goroutine for each.
func (c *contender) hold(over context.Context, key string, ttl time.Duration) (func(context.Context) error, error) {
	if c.manual == nil {
		_, release, err := c.lock(context.WithoutCancel(over), key)
		return release, err
	}
	renew, release, err := c.manual(over, key)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { // ends with over
		defer close(ended)
		for sleep(over, ttl/3) == nil {
			if err := renew(over); err != nil {
				_, _ = c.tolerate(over, key, err)
			}
		}
	}()
	return func(ctx context.Context) error {
		<-ended
		return release(ctx)
	}, nil
}

// A watch is what happened in a while.
type watch struct {
	cpu, renewals float64
	commands      float64 // -1 where they are not counted
}

func (w *watch) over(ctx context.Context, r rival, c *contender, addr string, d time.Duration) error {
	before, cpu := c.renewed.Load(), processCPU()
	w.commands = -1
	if r.service == "redis" {
		rdb := goredis.NewClient(&goredis.Options{Addr: addr})
		defer rdb.Close()
		used, sum, err := watched(ctx, rdb, func() error { return sleep(ctx, d) })
		w.cpu, w.commands, w.renewals = used, float64(sum.total()), float64(c.renewed.Load()-before)
		return err
	}
	err := sleep(ctx, d)
	w.cpu, w.renewals = processCPU()-cpu, float64(c.renewed.Load()-before)
	return err
}
