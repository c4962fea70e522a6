package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// TestLoneCallWithoutConnection takes the only connection of the pool away. A call by
// itself, sent by its caller, ends with its ctx all the same, long before go-redis
// gives up.
func TestLoneCallWithoutConnection(t *testing.T) {
	t.Parallel()
	const poolTimeout = 20 * time.Second
	rdb := goredis.NewClient(&goredis.Options{
		Addr: addresses(t, "DISTLOCK_TEST_REDIS")[0], PoolSize: 1, PoolTimeout: poolTimeout,
	})
	t.Cleanup(func() { rdb.Close() })
	s := open(t, rdb, freshPrefix())
	ctx := within(t, time.Minute)
	for range 2 { // so that the round trip is known to be short
		h, err := s.TryAcquire(ctx, request("warm"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Release(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	taken := rdb.Conn()
	if err := taken.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := s.TryAcquire(short, request("none"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of ctx", err)
	}
	if took := time.Since(start); took > poolTimeout/2 {
		t.Errorf("returned after %v, ctx ended after 1s", took)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "granted with a connection again, and nothing is left of the first call", func() bool {
		h, err := s.TryAcquire(ctx, request("none"))
		return err == nil && s.Release(ctx, h) == nil
	})
}
