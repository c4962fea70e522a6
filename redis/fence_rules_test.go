package redis_test

import (
	"context"
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/fencetest"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// A lateReset is a client before whose first Reset of a mark something happens.
type lateReset struct {
	redislock.Processor
	between func()
}

func (c *lateReset) Process(ctx context.Context, cmd goredis.Cmder) error {
	const reads = 4 // words: EVALSHA, the script, the number of keys, the mark
	if len(cmd.Args()) > reads && c.between != nil {
		c.between()
		c.between = nil
	}
	return c.Processor.Process(ctx, cmd)
}

// What all fences have in common.
func TestFenceRules(t *testing.T) {
	rdb := connect(t)
	prefix := freshPrefix()
	fencetest.Run(t, fencetest.Harness{
		Open: func(source string) fencetest.Fence {
			f := redislock.NewFence(rdb, redislock.FenceOptions{Prefix: prefix, Source: source})
			return fencetest.Fence{
				Advance: f.Advance,
				Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
					return f.Set(ctx, key, t, content)
				},
				Read: func(ctx context.Context, key string) (string, error) {
					content, err := rdb.Get(ctx, key).Result()
					if errors.Is(err, goredis.Nil) {
						err = nil
					}
					return content, err
				},
				Reset: f.Reset,
				LateReset: func(ctx context.Context, key string, between func()) error {
					late := &lateReset{rdb, between}
					return redislock.NewFence(late, redislock.FenceOptions{Prefix: prefix, Source: source}).Reset(ctx, key)
				},
				Fail: func(ctx context.Context, key string, t distlock.Token) error {
					return f.HSet(ctx, key, t, "field", "of a string")
				},
			}
		},
		Spoil: func(ctx context.Context, key, text string) error {
			return rdb.Set(ctx, prefix+"fence:{"+key+"}:mark", text, 0).Err()
		},
	})
}
