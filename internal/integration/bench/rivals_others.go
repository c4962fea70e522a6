package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"cirello.io/pglock"
	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
	_ "github.com/lib/pq" // the driver that pglock asks for
	"go.etcd.io/etcd/client/v3/concurrency"
)

// sessionTTL is the option for ttl in seconds, at least one, if it is given.
func sessionTTL(ttl time.Duration) []concurrency.SessionOption {
	if ttl == 0 {
		return nil
	}
	return []concurrency.SessionOption{concurrency.WithTTL(int(max(ttl, time.Second) / time.Second))}
}

// openMutex shares one session among all keys.
func openMutex(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	cli, err := dialEtcd(addr)
	if err != nil {
		return nil, err
	}
	s, err := concurrency.NewSession(cli, sessionTTL(ttl)...)
	if err != nil {
		cli.Close()
		return nil, err
	}
	return &contender{
		lock: func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
			m := concurrency.NewMutex(s, "shared/"+key)
			return 0, m.Unlock, m.Lock(ctx)
		},
		close: func() {
			_ = s.Close()
			cli.Close()
		},
	}, nil
}

// openMutexes makes a session for each lock.
func openMutexes(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	cli, err := dialEtcd(addr)
	if err != nil {
		return nil, err
	}
	return &contender{
		lock: func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
			s, err := concurrency.NewSession(cli, sessionTTL(ttl)...)
			if err != nil {
				return 0, nil, err
			}
			m := concurrency.NewMutex(s, "each/"+key)
			if err := m.Lock(ctx); err != nil {
				return 0, nil, errors.Join(err, s.Close())
			}
			return 0, func(ctx context.Context) error { return errors.Join(m.Unlock(ctx), s.Close()) }, nil
		},
		close: func() { cli.Close() },
	}, nil
}

func openZKLock(_ context.Context, addrs string, ttl time.Duration) (*contender, error) {
	if ttl == 0 {
		ttl = 10 * time.Second
	}
	c, err := dialZooKeeper(addrs, ttl)
	if err != nil {
		return nil, err
	}
	return &contender{
		lock: func(_ context.Context, key string) (distlock.Token, func(context.Context) error, error) {
			l := zk.NewLock(c, "/bench-rivals-peer/"+key, zk.WorldACL(zk.PermAll))
			return 0, func(context.Context) error { return l.Unlock() }, l.Lock()
		},
		close: c.Close,
	}, nil
}

// apiLock takes a lock by o. A wait goes on for a while after the end of ctx.
func apiLock(ctx context.Context, c *api.Client, o api.LockOptions) (distlock.Token, func(context.Context) error, error) {
	l, err := c.LockOpts(&o)
	if err != nil {
		return 0, nil, err
	}
	lost, err := l.Lock(ctx.Done())
	if err == nil && lost == nil {
		err = errors.Join(errors.New("api.Lock: no lock"), ctx.Err())
	}
	return 0, func(context.Context) error { return l.Unlock() }, err
}

// openAPILock shares one session among all keys.
func openAPILock(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	c, free, err := dialConsul(addr)
	if err != nil {
		return nil, err
	}
	given := ttl != 0
	if !given {
		ttl = 15 * time.Second
	}
	entry := &api.SessionEntry{TTL: ttl.String()}
	if given {
		entry.LockDelay = consulDelay
	}
	session, _, err := c.Session().Create(entry, nil)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() { // ends with done, and the session with it
		_ = c.Session().RenewPeriodic(ttl.String(), session, nil, done)
	}()
	return &contender{
		lock: func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
			return apiLock(ctx, c, api.LockOptions{Key: "bench-consul-shared/" + key, Session: session})
		},
		close: func() { close(done); free() },
	}, nil
}

// openAPILocks leaves it to each lock to make a session.
func openAPILocks(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	c, free, err := dialConsul(addr)
	if err != nil {
		return nil, err
	}
	o := api.LockOptions{}
	if ttl != 0 {
		o.SessionTTL, o.LockDelay = ttl.String(), consulDelay
	}
	return &contender{
		lock: func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
			o := o
			o.Key = "bench-consul-each/" + key
			return apiLock(ctx, c, o)
		},
		close: free,
	}, nil
}

func openPGLock(ctx context.Context, url string, ttl time.Duration) (*contender, error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	var opts []pglock.ClientOption
	if ttl != 0 {
		opts = append(opts, pglock.WithLeaseDuration(ttl), pglock.WithHeartbeatFrequency(ttl/4))
	}
	c, err := pglock.New(db, opts...)
	if err == nil {
		err = c.TryCreateTable()
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("pglock: %w", err)
	}
	return &contender{
		lock: func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
			l, err := c.AcquireContext(ctx, key)
			return 0, func(ctx context.Context) error { return c.ReleaseContext(ctx, l) }, err
		},
		mend: func(ctx context.Context, key string) error {
			_, err := db.ExecContext(ctx, "DELETE FROM locks WHERE name = $1", key)
			return err
		},
		close: func() { db.Close() },
	}, nil
}
