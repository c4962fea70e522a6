package redis_test

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// counter counts the commands that the library sends through a client.
type counter struct{ n atomic.Int64 }

func (*counter) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *counter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// TestHandOverCommands has two clients want one key by turns. Each round is
// the refused attempt of the one that comes, the release with its wake-up, and
// the attempt that is granted.
func TestHandOverCommands(t *testing.T) {
	t.Parallel()
	ctx := within(t, 30*time.Second)
	const rounds, first = 100, 10 // by then both have subscribed
	opts := &redislock.Options{Prefix: freshPrefix(), Hooks: true}
	var count counter
	var clients [2]*distlock.Client
	for i := range clients {
		rdb := connect(t)
		rdb.AddHook(&count)
		clients[i] = clientOf(t, redislock.New(rdb, opts))
	}
	l, err := clients[0].Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	var before int64
	for i := range rounds {
		if i == first {
			before = count.n.Load()
		}
		next := make(chan *distlock.Lease, 1)
		asked := count.n.Load()
		go func() { // ends with Acquire, bounded by ctx
			l, err := clients[(i+1)%2].Acquire(ctx, "k")
			if err != nil {
				t.Error(err)
			}
			next <- l
		}()
		eventually(t, "the waiter has asked", func() bool { return count.n.Load() > asked })
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if l = <-next; l == nil {
			t.FailNow()
		}
	}
	if per := float64(count.n.Load()-before) / (rounds - first); per > 4.3 {
		t.Errorf("%.2f commands a round, want 4: 1 to be told to wait, 3 to hand over", per)
	}
}

// channels returns how many channels with prefix somebody listens to.
func channels(t testing.TB, rdb goredis.UniversalClient, prefix string) int {
	t.Helper()
	ctx := within(t, 10*time.Second)
	var n atomic.Int64
	count := func(ctx context.Context, c *goredis.Client) error {
		names, err := c.PubSubChannels(ctx, prefix+"*").Result()
		n.Add(int64(len(names)))
		return err
	}
	var err error
	switch c := rdb.(type) {
	case *goredis.ClusterClient:
		err = c.ForEachMaster(ctx, count)
	case *goredis.Client:
		err = count(ctx, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return int(n.Load())
}

func TestSubscriptionsEnd(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 20*time.Second)
		holder, waiter := client(t, rdb, prefix), client(t, rdb, prefix)
		const n = 20
		leases := make([]*distlock.Lease, n)
		results := make(chan error, n)
		for i := range leases {
			var err error
			if leases[i], err = holder.Acquire(ctx, fmt.Sprint("k", i)); err != nil {
				t.Fatal(err)
			}
			go func() { // ends with Acquire, bounded by ctx
				l, err := waiter.Acquire(ctx, fmt.Sprint("k", i))
				if err == nil {
					err = l.Release(ctx)
				}
				results <- err
			}()
		}
		eventually(t, "all waiters listen", func() bool { return channels(t, rdb, prefix) == n })
		for _, l := range leases {
			if err := l.Release(ctx); err != nil {
				t.Error(err)
			}
		}
		for range leases {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		eventually(t, "nobody listens any more", func() bool { return channels(t, rdb, prefix) == 0 })
	})
}

func TestWokenAfterSubscriptionIsCut(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	rdb, prefix := connect(t), freshPrefix()
	s := open(t, rdb, prefix).(distlock.Waker)
	var wakes atomic.Int64
	stop := s.Watch("k", func() { wakes.Add(1) })
	defer stop()
	channel := prefix + "{k}:free"
	eventually(t, "told that it listens", func() bool { return wakes.Load() == 1 })
	rdb.Publish(ctx, channel, "")
	eventually(t, "woken", func() bool { return wakes.Load() == 2 })
	list, err := rdb.ClientList(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if strings.Contains(line, " sub=1 ") {
			killed += int(rdb.ClientKillByFilter(ctx, "ID", id).Val())
		}
	}
	if killed == 0 {
		t.Fatal("no subscription to cut")
	}
	eventually(t, "woken by the next subscription", func() bool { return wakes.Load() >= 3 })
	before := wakes.Load()
	rdb.Publish(ctx, channel, "")
	eventually(t, "woken by a message after that", func() bool { return wakes.Load() > before })
}

// TestNoGoroutineWhenIdle is not parallel: it looks at all goroutines.
func TestNoGoroutineWhenIdle(t *testing.T) {
	ctx := within(t, 30*time.Second)
	rdb, prefix := connect(t), freshPrefix()
	c, other := client(t, rdb, prefix), client(t, rdb, prefix)
	for i := range 200 {
		key := fmt.Sprint("k", i%7)
		l, err := c.Acquire(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Duration(i%5)*time.Millisecond)
		if _, err := other.Acquire(short, key); err == nil {
			t.Fatal("granted twice")
		}
		cancel()
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var stacks strings.Builder
	eventually(t, "no goroutine of this package", func() bool {
		stacks.Reset()
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(stacks.String(), "distlock/redis.(*") && !strings.Contains(stacks.String(), "(*PubSub)")
	})
}
