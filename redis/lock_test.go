package redis_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	rdb := goredis.NewClient(&goredis.Options{})
	defer rdb.Close()
	var none *goredis.Client
	for _, c := range []struct {
		name   string
		client redislock.Client
		opts   *redislock.Options
		option distlock.Option
	}{
		{"nil client", nil, nil, distlock.WithTTL(time.Second)},
		{"typed nil client", none, nil, distlock.WithTTL(time.Second)},
		{"Ring", goredis.NewRing(&goredis.RingOptions{}), nil, distlock.WithTTL(time.Second)},
		{"TTL below 10 ms", rdb, nil, distlock.WithTTL(9 * time.Millisecond)},
		{"TTL over a day", rdb, nil, distlock.WithTTL(25 * time.Hour)},
		{"lock-delay over an hour", rdb, nil, distlock.WithLockDelay(2 * time.Hour)},
		{"brace in the prefix", rdb, &redislock.Options{Prefix: "a{"}, distlock.WithTTL(time.Second)},
		{"long prefix", rdb, &redislock.Options{Prefix: strings.Repeat("a", 129)}, distlock.WithTTL(time.Second)},
	} {
		if _, err := distlock.New(redislock.New(c.client, c.opts), c.option); !errors.Is(err, distlock.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", c.name, err)
		}
	}
}

func TestWhatIsOnTheServer(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		c := client(t, rdb, prefix, distlock.WithTTL(time.Minute), distlock.WithLockDelay(time.Second), distlock.WithHolder("worker 7"))
		before := time.Now()
		l, err := c.TryAcquire(ctx, "a{b")
		if err != nil {
			t.Fatal(err)
		}
		lock := prefix + "{a%7Bb}"
		value, _ := rdb.Get(ctx, lock).Result()
		if fields := strings.SplitN(value, " ", 3); len(fields) != 3 || len(fields[0]) != 40 || fields[1] != l.Token().String() || fields[2] != "worker 7" {
			t.Errorf("value: got %q, want owner, token and holder", value)
		}
		if rest := rdb.PTTL(ctx, lock).Val(); rest <= 50*time.Second || rest > 61*time.Second {
			t.Errorf("lifetime: got %v, want TTL + lock-delay", rest)
		}
		if got := rdb.Get(ctx, lock+":token").Val(); got != l.Token().String() {
			t.Errorf("counter: got %q, want %v", got, l.Token())
		}
		if rest := rdb.PTTL(ctx, lock+":token").Val(); rest < 23*time.Hour || rest > 25*time.Hour {
			t.Errorf("the counter is kept for %v, want a day", rest)
		}
		if at := time.UnixMicro(int64(l.Token())); at.Before(before.Add(-time.Minute)) || at.After(before.Add(time.Minute)) {
			t.Errorf("the first token is of %v, want the server's time", at)
		}
		if err := l.Release(ctx); err != nil {
			t.Error(err)
		}
		if n := rdb.Exists(ctx, lock).Val(); n != 0 {
			t.Error("the lock is still there after Release")
		}
	})
}

func TestCounterAheadOfTheClock(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		ahead := time.Now().Add(100 * 24 * time.Hour).UnixMicro()
		counter := prefix + "{k}:token"
		rdb.Set(ctx, counter, ahead, time.Hour)
		l, err := client(t, rdb, prefix).TryAcquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := l.Token(), distlock.Token(ahead+1); got != want {
			t.Errorf("token: got %v, want %v", got, want)
		}
		if rest := rdb.PTTL(ctx, counter).Val(); rest < 100*24*time.Hour || rest > 102*24*time.Hour {
			t.Errorf("the counter is kept for %v, want a day longer than its own time", rest)
		}
	})
}

func TestForeignValues(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		c := client(t, rdb, prefix)
		for value, ttl := range map[string]time.Duration{"somebody": time.Hour, "": 0, strings.Repeat("0", 40): 0} {
			lock := prefix + "{k" + strconv.Itoa(len(value)) + "}"
			rdb.Set(ctx, lock, value, ttl)
			if _, err := c.TryAcquire(ctx, "k"+strconv.Itoa(len(value))); !errors.Is(err, distlock.ErrHeld) {
				t.Errorf("value %q: got %v, want ErrHeld", value, err)
			}
			if got := rdb.Get(ctx, lock).Val(); got != value {
				t.Errorf("value %q was overwritten with %q", value, got)
			}
		}
		wait, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := c.Acquire(wait, "k0"); !errors.Is(err, distlock.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for a value without expiry: got %v", err)
		}
	})
}

func TestServerErrorsLeaveNothing(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		c := client(t, rdb, prefix)
		lock, counter := prefix+"{k}", prefix+"{k}:token"
		for name, row := range map[string]struct {
			spoil func()
			want  string
		}{
			"a list under the lock's key":    {func() { rdb.RPush(ctx, lock, "x") }, "WRONGTYPE"},
			"a list under the counter's key": {func() { rdb.RPush(ctx, counter, "x") }, "WRONGTYPE"},
			"a counter that is no number":    {func() { rdb.Set(ctx, counter, "12x", 0) }, "counter is damaged"},
			"an empty counter":               {func() { rdb.Set(ctx, counter, "", 0) }, "counter is damaged"},
			"a counter at its end":           {func() { rdb.Set(ctx, counter, "9007199254740991", 0) }, "used up"},
			"a counter past its end":         {func() { rdb.Set(ctx, counter, "99999999999999999999", 0) }, "used up"},
		} {
			rdb.Del(ctx, lock, counter)
			row.spoil()
			before := keys(t, rdb, prefix)
			l, err := c.TryAcquire(ctx, "k")
			var answer goredis.Error
			if !errors.As(err, &answer) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: got %v, %v, want the server's %s", name, l, err, row.want)
			}
			if after := keys(t, rdb, prefix); len(after) != len(before) {
				t.Errorf("%s: keys before %q, after %q", name, before, after)
			}
		}
	})
}

func TestScriptsForgotten(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 20*time.Second)
		c := client(t, rdb, prefix, distlock.WithTTL(300*time.Millisecond))
		for i := range 5 {
			l, err := c.Acquire(ctx, "k"+strconv.Itoa(i))
			if err != nil {
				t.Fatal(err)
			}
			if err := rdb.ScriptFlush(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			end := l.Deadline()
			eventually(t, "renewed", func() bool { return l.Deadline().After(end) })
			rdb.ScriptFlush(ctx)
			if err := l.Release(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}
