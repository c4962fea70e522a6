package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// closeBound is how long a client may take to close at the end of a test.
const closeBound = 10 * time.Second

// dial returns a go-redis client with default options, closed at the end of the test.
func dial(t testing.TB, addr string) *goredis.Client {
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// lockOn returns a lock client on rdb, closed at the end of the test.
func lockOn(t testing.TB, rdb redislock.Client, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(redislock.New(rdb, nil), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		_ = c.Close(ctx) // an error says only that the server is gone
	})
	return c
}

// locksAt is lockOn a client of its own.
func locksAt(t testing.TB, addr string, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	return lockOn(t, dial(t, addr), opts...)
}

// acquire gets key or ends the test.
func acquire(t testing.TB, c distlock.Locker, key string, opts ...distlock.Option) *distlock.Lease {
	t.Helper()
	l, err := c.Acquire(within(t, bound), key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// insist acquires key, again if a call fails: a first attempt that has no answer is
// returned, and on a machine that stalls, or from a pool of dead connections, it has none.
func insist(t testing.TB, c distlock.Locker, key string) (l *distlock.Lease) {
	t.Helper()
	eventually(t, bound, "the key is granted", func() bool {
		var err error
		l, err = c.Acquire(within(t, bound), key)
		return err == nil
	})
	return l
}

// release gives l up or fails the test. Where a call has no answer, as the machine stalls,
// it calls again; what it is told then may be that the session is gone, and the key with it.
func release(t testing.TB, l *distlock.Lease) {
	t.Helper()
	err, again := l.Release(t.Context()), false
	for end := time.Now().Add(bound); err != nil && !isLost(err) && !isReleased(err) && time.Now().Before(end); again = true {
		pause(10 * time.Millisecond)
		err = l.Release(t.Context())
	}
	if gone := isLost(err) || isReleased(err); err != nil && !(again && gone) {
		t.Errorf("got %v from Release, want nil", err)
	}
}

// The documented names of what a lock is on the server.
func lockName(key string) string    { return redislock.DefaultPrefix + "{" + key + "}" }
func counterName(key string) string { return lockName(key) + ":token" }

// value returns what the server has under name, or "" for nothing.
func value(t testing.TB, rdb goredis.UniversalClient, name string) string {
	t.Helper()
	v, err := rdb.Get(t.Context(), name).Result()
	if err != nil && err != goredis.Nil {
		t.Fatal(err)
	}
	return v
}
