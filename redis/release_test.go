package redis_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// serverError is an error of the server's own.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// once answers one command in the server's place: the next that may give a lock up.
type once struct{ with atomic.Pointer[func() error] }

func (*once) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (o *once) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if with := o.with.Swap(nil); with != nil {
			err := (*with)()
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (*once) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// A server that has lost its data while a holder releases: only a request that may
// have been carried out can have released what is not there when it is asked again.
func TestReleaseThatWasNotCarriedOutReleasesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		first error
		lost  bool
	}{
		{"never sent", &net.OpError{Op: "dial", Err: errors.New("connection refused")}, true},
		{"loading", serverError("LOADING Redis is loading the dataset in memory"), true},
		{"a replica", serverError("READONLY You can't write against a read only replica."), true},
		{"no answer", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false},
	} {
		for what, opts := range map[string][]distlock.Option{"release": nil, "min-hold": {distlock.WithMinHold(20 * time.Second)}} {
			t.Run(c.name+", "+what, func(t *testing.T) {
				t.Parallel()
				ctx, prefix := within(t, 20*time.Second), freshPrefix()
				rdb, admin := connect(t), connect(t)
				var gate once
				rdb.AddHook(&gate)
				l, err := clientOf(t, redislock.New(rdb, &redislock.Options{Prefix: prefix, Hooks: true}), opts...).TryAcquire(ctx, "k")
				if err != nil {
					t.Fatal(err)
				}
				restart := func() error {
					if n, err := admin.Del(ctx, prefix+"{k}").Result(); n != 1 || err != nil {
						t.Errorf("deleted %d locks, %v", n, err)
					}
					return c.first
				}
				gate.with.Store(&restart)
				if err := l.Release(ctx); errors.Is(err, distlock.ErrLost) != c.lost || !c.lost && err != nil {
					t.Errorf("got %v, want ErrLost: %v", err, c.lost)
				}
			})
		}
	}
}
