package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// renamed is a client whose server knows none of the commands that take an
// owner: they go out under other names, so that the answers are the server's.
type renamed struct{}

func (renamed) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (renamed) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error { return next(ctx, rename(cmd)) }
}

func (renamed) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		for _, cmd := range cmds {
			rename(cmd)
		}
		return next(ctx, cmds)
	}
}

// rename changes the name in place, so that go-redis reads the answer into cmd
// itself.
func rename(cmd goredis.Cmder) goredis.Cmder {
	switch cmd.Name() {
	case "eval", "evalsha", "set", "delex", "delifeq":
		cmd.Args()[0] = "no-" + cmd.Name()
	}
	return cmd
}

// Stands for: a server that did not know EVALSHA repeated its arguments, and the
// owner of the lock was in the caller's error.
func TestNoOwnerInAServersError(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		terms := distlock.Terms{TTL: time.Minute}
		b := redislock.New(rdb, &redislock.Options{Prefix: prefix, Hooks: true})
		s, err := b.Open(t.Context(), terms)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(context.Background()) })
		r := distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: terms}
		h, err := s.TryAcquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		rdb.AddHook(renamed{})
		unseen := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: terms}
		renewer := s.(distlock.Renewer)
		_, acquired := s.TryAcquire(t.Context(), r)
		_, inspected := b.Inspect(t.Context(), r.Key)
		broken := b.Break(t.Context(), r.Key, h.Token, 0)
		for what, err := range map[string]error{
			"acquire": acquired,
			"renew":   renewer.Renew(t.Context(), []distlock.Hold{h, h})[1],
			"renew 1": renewer.Renew(t.Context(), []distlock.Hold{unseen})[0],
			"release": s.Release(t.Context(), h),
			"inspect": inspected,
			"break":   broken,
		} {
			if err == nil || !strings.Contains(err.Error(), "unknown command") || strings.Contains(err.Error(), ", with args") {
				t.Errorf("%s: got %v, want that the command is unknown, without its arguments", what, err)
			}
			if err != nil && strings.Contains(err.Error(), r.Owner.Text()[:8]) {
				t.Errorf("%s: a part of the owner is in %q", what, err)
			}
		}
	})
}
