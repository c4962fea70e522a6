package main

import (
	"context"
	"errors"
	"strings"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/distlock-go/distlock"
	"github.com/go-redsync/redsync/v4"
	syncpool "github.com/go-redsync/redsync/v4/redis"
	syncredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// openRedsync is for one server, or several with commas between.
func openRedsync(_ context.Context, addrs string, ttl time.Duration) (*contender, error) {
	nodes := dialNodes(strings.Split(addrs, ","))
	var pools []syncpool.Pool
	for _, c := range nodes {
		pools = append(pools, syncredis.NewPool(c))
	}
	rs := redsync.New(pools...)
	var opts []redsync.Option
	if ttl != 0 {
		opts = append(opts, redsync.WithExpiry(ttl))
	}
	one := &contender{close: func() { closeNodes(nodes) }}
	one.manual = func(ctx context.Context, key string) (renew, release func(context.Context) error, err error) {
		m := rs.NewMutex("redsync:"+key, opts...)
		return still(m.ExtendContext), still(m.UnlockContext), m.LockContext(ctx)
	}
	one.lock = one.forgetRenewal
	return one, nil
}

// still makes an error of false.
func still(f func(context.Context) (bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		ok, err := f(ctx)
		if err == nil && !ok {
			err = errGone
		}
		return err
	}
}

// forgetRenewal is lock, made of manual.
func (c *contender) forgetRenewal(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
	_, release, err := c.manual(ctx, key)
	return 0, release, err
}

func openBSM(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	if ttl == 0 {
		ttl = floorTTL
	}
	rdb := goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: poolSize})
	c := bsm.New(rdb)
	one := &contender{close: func() { rdb.Close() }}
	one.manual = func(ctx context.Context, key string) (renew, release func(context.Context) error, err error) {
		l, err := c.Obtain(ctx, "bsm:"+key, ttl, &bsm.Options{RetryStrategy: bsm.LinearBackoff(100 * time.Millisecond)})
		return func(ctx context.Context) error { return l.Refresh(ctx, ttl, nil) }, l.Release, err
	}
	one.lock = one.forgetRenewal
	return one, nil
}

func openRueidis(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:    1,
		NoLoopTracking: true,
		KeyValidity:    ttl,
	})
	if err != nil {
		return nil, err
	}
	return &contender{
		lock: func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
			held, cancel, err := l.WithContext(ctx, key)
			return 0, func(context.Context) error {
				lost := held.Err()
				cancel()
				if lost != nil {
					return errors.Join(errGone, lost)
				}
				return nil
			}, err
		},
		close: l.Close,
	}, nil
}
