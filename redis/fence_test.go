package redis_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

func TestFence(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		f := redislock.NewFence(rdb, redislock.FenceOptions{Source: "redis", Prefix: prefix})
		key := prefix + "balance{7}"
		for _, step := range []struct {
			token distlock.Token
			want  error
		}{
			{9, nil},
			{9, nil},
			{8, distlock.ErrStale},
			{10, nil},
			{9, distlock.ErrStale},
			{0, distlock.ErrInvalid},
			{math.MaxInt64 + 1, distlock.ErrInvalid},
			{1<<53 + 1, nil},
			{1 << 53, distlock.ErrStale}, // the same number to Lua
			{math.MaxInt64 - 1, nil},
			{math.MaxInt64, nil},
			{math.MaxInt64 - 1, distlock.ErrStale},
		} {
			before := rdb.Get(ctx, key).Val()
			if err := f.Set(ctx, key, step.token, step.token.String()); !errors.Is(err, step.want) {
				t.Fatalf("token %v: got %v, want %v", step.token, err, step.want)
			}
			want := step.token.String()
			if step.want != nil {
				want = before
			}
			if got := rdb.Get(ctx, key).Val(); got != want {
				t.Errorf("after token %v: got %q, want %q", step.token, got, want)
			}
		}
		if ttl := rdb.TTL(ctx, prefix+"fence::"+key+":mark").Val(); ttl != -1 {
			t.Errorf("the mark expires in %v, want never", ttl)
		}
	})
}

func TestFenceOtherWrites(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		f := redislock.NewFence(rdb, redislock.FenceOptions{Source: "redis", Prefix: prefix})
		key := prefix + "account"
		if err := f.Advance(ctx, key, 5); err != nil {
			t.Fatal(err)
		}
		if err := f.HSet(ctx, key, 4, "balance", 1); !errors.Is(err, distlock.ErrStale) {
			t.Errorf("HSet: got %v, want ErrStale", err)
		}
		if err := f.HSet(ctx, key, 5, "balance", 100, "owner", "me"); err != nil {
			t.Error(err)
		}
		debit := redislock.NewScript(`return redis.call('HINCRBY', KEYS[1], 'balance', -ARGV[1])`)
		for range 2 {
			rdb.ScriptFlush(ctx)
			if _, err := f.Eval(ctx, 4, debit, []string{key}, 30); !errors.Is(err, distlock.ErrStale) {
				t.Errorf("Eval: got %v, want ErrStale", err)
			}
		}
		if left, err := f.Eval(ctx, 6, debit, []string{key}, 30); err != nil || left != int64(70) {
			t.Errorf("Eval: got %v, %v, want 70", left, err)
		}
		if _, err := f.Eval(ctx, 6, redislock.NewScript(`return false`), []string{key}); !errors.Is(err, goredis.Nil) {
			t.Errorf("a nil reply: got %v, want Nil", err)
		}
		if err := f.Set(ctx, key, 7, "x"); err != nil {
			t.Errorf("SET replaces a hash: got %v", err)
		}
		if err := f.HSet(ctx, key, 8, "a", "b"); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("HSet of a string: got %v, want WRONGTYPE", err)
		}
		if err := f.Advance(ctx, key, 7); !errors.Is(err, distlock.ErrStale) {
			t.Errorf("after a write that failed: got %v, want the mark raised", err)
		}
	})
}

func TestFenceMarks(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		key := prefix + "k"
		mark := prefix + "fence:{" + key + "}:mark"
		other := redislock.NewFence(rdb, redislock.FenceOptions{Prefix: prefix, Source: "etcd eu 1"})
		if err := other.Set(ctx, key, 3, "theirs"); err != nil {
			t.Fatal(err)
		}
		f := redislock.NewFence(rdb, redislock.FenceOptions{Source: "redis", Prefix: prefix})
		for _, spoiled := range []string{"etcd eu 1 3", "", "redis", "redis 12x", "redis 012", "redis  3", "redis 3 "} {
			rdb.Set(ctx, mark, spoiled, 0)
			err := f.Set(ctx, key, 4, "ours")
			if !errors.Is(err, distlock.ErrInvalid) || errors.Is(err, distlock.ErrSource) != (spoiled == "etcd eu 1 3" || spoiled == "redis  3") {
				t.Errorf("mark %q: got %v, want ErrInvalid, and ErrSource if it is another's", spoiled, err)
			}
			if got := rdb.Get(ctx, key).Val(); got != "theirs" {
				t.Errorf("mark %q: the resource is now %q", spoiled, got)
			}
		}
	})
}

func TestFenceReset(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		key := prefix + "k"
		ours := redislock.NewFence(rdb, redislock.FenceOptions{Source: "redis", Prefix: prefix})
		theirs := redislock.NewFence(rdb, redislock.FenceOptions{Prefix: prefix, Source: "etcd eu 1"})
		for _, step := range []struct {
			what string
			err  error
			want error
		}{
			{"their write", theirs.Set(ctx, key, 7, "theirs"), nil},
			{"ours before Reset", ours.Set(ctx, key, 8, "ours"), distlock.ErrSource},
			{"Reset", ours.Reset(ctx, key), nil},
			{"theirs after it", theirs.Set(ctx, key, 9, "theirs"), distlock.ErrSource},
			{"the smallest token", ours.Advance(ctx, key, 1), nil},
			{"a larger one", ours.Advance(ctx, key, 3), nil},
			{"a smaller one", ours.Advance(ctx, key, 2), distlock.ErrStale},
			{"Reset of the same source", ours.Reset(ctx, key), nil},
			{"the smaller one again", ours.Advance(ctx, key, 2), nil},
			{"Reset of no key", ours.Reset(ctx, ""), distlock.ErrInvalid},
		} {
			if !errors.Is(step.err, step.want) {
				t.Errorf("%s: got %v, want %v", step.what, step.err, step.want)
			}
		}
		if got := rdb.Get(ctx, key).Val(); got != "theirs" {
			t.Errorf("Reset changed the resource to %q", got)
		}
	})
}

func TestFenceArguments(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rdb := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	var none *goredis.Client
	good := redislock.NewFence(rdb, redislock.FenceOptions{Source: "redis"})
	_, noKeys := good.Eval(ctx, 1, redislock.NewScript("return 1"), nil)
	for name, err := range map[string]error{
		"nil client":       redislock.NewFence(nil, redislock.FenceOptions{Source: "redis"}).Advance(ctx, "k", 1),
		"typed nil client": redislock.NewFence(none, redislock.FenceOptions{Source: "redis"}).Advance(ctx, "k", 1),
		"no source":        redislock.NewFence(rdb, redislock.FenceOptions{}).Advance(ctx, "k", 1),
		"source":           redislock.NewFence(rdb, redislock.FenceOptions{Source: "a\nb"}).Advance(ctx, "k", 1),
		"prefix":           redislock.NewFence(rdb, redislock.FenceOptions{Source: "redis", Prefix: "{"}).Advance(ctx, "k", 1),
		"empty key":        good.Advance(ctx, "", 1),
		"stray brace":      good.Advance(ctx, "a}b", 1),
		"no keys":          noKeys,
		"odd fields":       good.HSet(ctx, "k", 1, "field"),
		"no fields":        good.HSet(ctx, "k", 1),
	} {
		if !errors.Is(err, distlock.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
