package redis_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// floor is a lock written by hand on the same client: SET NX PX and DELEX,
// without token, renewal or waiting.
func floor(ctx context.Context, rdb *goredis.Client, key string) error {
	const value = "0123456789012345678901234567890123456789"
	if err := rdb.SetNX(ctx, key, value, 30*time.Second).Err(); err != nil {
		return err
	}
	return rdb.Do(ctx, "delex", key, "ifeq", value).Err()
}

// lockOnce is the same with the library.
func lockOnce(ctx context.Context, c *distlock.Client, key string) error {
	l, err := c.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return l.Release(ctx)
}

// lockSession is the same with this package alone, without the core.
func lockSession(ctx context.Context, s distlock.Session, key string) error {
	r := distlock.Request{Key: key, Owner: distlock.NewOwner(), Terms: distlock.Terms{TTL: 30 * time.Second}}
	h, err := s.TryAcquire(ctx, r)
	if err != nil {
		return err
	}
	return s.Release(ctx, h)
}

// A rival takes and frees a key once.
type rival struct {
	name string
	lock func(ctx context.Context, key string) error
	took []time.Duration // per round, of one lock
}

func rivals(b *testing.B) []*rival {
	rdb, prefix := connect(b), freshPrefix()
	c := client(b, rdb, prefix)
	s, err := redislock.New(rdb, &redislock.Options{Prefix: prefix}).Open(b.Context(), distlock.Terms{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(context.Background()) })
	return []*rival{
		{name: "floor", lock: func(ctx context.Context, key string) error { return floor(ctx, rdb, prefix+key) }},
		{name: "session", lock: func(ctx context.Context, key string) error { return lockSession(ctx, s, key) }},
		{name: "distlock", lock: func(ctx context.Context, key string) error { return lockOnce(ctx, c, key) }},
	}
}

// compare lets the rivals take turns, so that noise hits all, and reports the
// median of each as a multiple of the floor's.
func compare(b *testing.B, perRound int, round func(r *rival)) {
	all := rivals(b)
	for b.Loop() {
		for _, r := range all {
			start := time.Now()
			round(r)
			r.took = append(r.took, time.Since(start)/time.Duration(perRound))
		}
	}
	median := func(r *rival) float64 {
		slices.Sort(r.took)
		return float64(r.took[len(r.took)/2])
	}
	for _, r := range all {
		b.ReportMetric(median(r)/1000, r.name+"-µs")
		b.ReportMetric(median(r)/median(all[0]), r.name+"/floor")
	}
}

// BenchmarkAlone is one goroutine that takes and frees one key.
func BenchmarkAlone(b *testing.B) {
	const n = 50
	compare(b, n, func(r *rival) {
		for range n {
			if err := r.lock(b.Context(), "alone-"+r.name); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkBusy is 20 goroutines on 10,000 keys.
func BenchmarkBusy(b *testing.B) {
	const workers, each, keys = 20, 25, 10000
	var n atomic.Int64
	compare(b, workers*each, func(r *rival) {
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range each {
					if err := r.lock(b.Context(), fmt.Sprintf("busy-%s-%d", r.name, n.Add(1)%keys)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}
