package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	goredis "github.com/redis/go-redis/v9"
)

// linked returns a client of the plain server behind a proxy.
func linked(t *testing.T) (*goredis.Client, *locktest.Proxy) {
	t.Helper()
	p := locktest.NewProxy(t, addresses(t, "DISTLOCK_TEST_REDIS")[0])
	rdb := goredis.NewClient(&goredis.Options{Addr: p.Addr()})
	t.Cleanup(func() { rdb.Close() })
	return rdb, p
}

// TestSecondCopy loses the answer to an acquire and breaks the connection: the
// call finds its own grant, and nothing is left once it is released.
func TestSecondCopy(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	direct, prefix := connect(t), freshPrefix()
	rdb, link := linked(t)
	s := open(t, rdb, prefix)
	for i := range 3 {
		r := request(fmt.Sprint("k", i))
		lock := prefix + "{" + r.Key + "}"
		link.SwallowReplies()
		type result struct {
			hold distlock.Hold
			err  error
		}
		results := make(chan result, 1)
		go func() { // ends with TryAcquire, bounded by ctx
			h, err := s.TryAcquire(ctx, r)
			results <- result{h, err}
		}()
		eventually(t, "granted", func() bool { return direct.Exists(ctx, lock).Val() == 1 })
		link.Restore()
		got := <-results
		if got.err != nil {
			t.Fatalf("round %d: %v", i, got.err)
		}
		if counter := direct.Get(ctx, lock+":token").Val(); got.hold.Token.String() != counter {
			t.Errorf("token: got %v, the server has %v", got.hold.Token, counter)
		}
		if err := s.Release(ctx, got.hold); err != nil {
			t.Error(err)
		}
		if direct.Exists(ctx, lock).Val() != 0 {
			t.Error("the lock is still there")
		}
	}
}

// TestCallsShareNoFate has one call of many leave early while the server does
// not answer; the others get their answers.
func TestCallsShareNoFate(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	prefix := freshPrefix()
	rdb, link := linked(t)
	s := open(t, rdb, prefix)
	link.SwallowReplies()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			short, cancel := context.WithTimeout(ctx, 150*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := s.TryAcquire(short, request(fmt.Sprint("k", i)))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of ctx", err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("returned after %v, ctx ended after 150 ms", took)
			}
		})
	}
	wg.Wait()
	link.Restore()
	if _, err := s.TryAcquire(ctx, request("next")); err != nil {
		t.Errorf("after the link was restored: %v", err)
	}
}

// TestManyAtOnce has many calls in shared pipelines, on keys that are free and
// keys that are not.
func TestManyAtOnce(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 20*time.Second)
		s := open(t, rdb, prefix)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				for n := range 20 {
					h, err := s.TryAcquire(ctx, request(fmt.Sprint("k", (i+n)%30)))
					if errors.Is(err, distlock.ErrHeld) {
						continue
					}
					if err != nil {
						t.Error(err)
						continue
					}
					if err := s.Release(ctx, h); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, key := range keys(t, rdb, prefix) {
			if key[len(key)-1] == '}' {
				t.Errorf("left: %s", key)
			}
		}
	})
}
