package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

func open(t *testing.T, rdb redislock.Client, prefix string) distlock.Session {
	t.Helper()
	s, err := redislock.New(rdb, &redislock.Options{Prefix: prefix}).Open(within(t, 10*time.Second), distlock.Terms{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func request(key string) distlock.Request {
	return distlock.Request{Key: key, Owner: distlock.NewOwner(), Terms: distlock.Terms{TTL: time.Minute}}
}

func TestIdempotentByOwner(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		s, r := open(t, rdb, prefix), request("k")
		first, err := s.TryAcquire(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := open(t, rdb, prefix).TryAcquire(ctx, r)
		if err != nil || again.Token != first.Token {
			t.Errorf("the second time: got %v, %v, want token %v", again.Token, err, first.Token)
		}
		unseen := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms}
		if err := s.Release(ctx, unseen); err != nil {
			t.Errorf("Release of a grant that was not seen: %v", err)
		}
		for name, h := range map[string]distlock.Hold{"seen": first, "unseen": unseen} {
			if err := s.Release(ctx, h); !errors.Is(err, distlock.ErrLost) {
				t.Errorf("Release of nothing, %s: got %v, want ErrLost", name, err)
			}
		}
	})
}

func TestRenewBatch(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 20*time.Second)
		s := open(t, rdb, prefix)
		var holds []distlock.Hold
		for i := range 500 {
			h, err := s.TryAcquire(ctx, request(fmt.Sprint("k", i)))
			if err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 {
				if err := s.Release(ctx, h); err != nil {
					t.Fatal(err)
				}
			}
			holds = append(holds, h)
		}
		rdb.Del(ctx, prefix+"{k1}")
		rdb.RPush(ctx, prefix+"{k1}", "not a string")
		rdb.PExpire(ctx, prefix+"{k2}", 30*time.Second)
		for i, err := range s.(distlock.Renewer).Renew(ctx, holds) {
			switch {
			case i%10 == 0 && !errors.Is(err, distlock.ErrLost):
				t.Errorf("%d, released: got %v, want ErrLost", i, err)
			case i == 1 && (!errors.Is(err, distlock.ErrLost) || !strings.Contains(err.Error(), "WRONGTYPE")):
				t.Errorf("%d, of another type: got %v, want ErrLost with the server's error", i, err)
			case i%10 > 1 && err != nil:
				t.Errorf("%d: got %v", i, err)
			}
		}
		if n := rdb.Exists(ctx, prefix+"{k0}").Val(); n != 0 {
			t.Error("a renewal brought a lock back")
		}
		for _, h := range []distlock.Hold{holds[1], {Key: holds[1].Key, Owner: holds[1].Owner}} { // by the command, by the script
			if err := s.Release(ctx, h); !errors.Is(err, distlock.ErrLost) {
				t.Errorf("of another type: got %v from Release, want ErrLost", err)
			}
		}
		if n := rdb.LLen(ctx, prefix+"{k1}").Val(); n != 1 {
			t.Errorf("the list has %d elements, want what it had", n)
		}
		if rest := rdb.PTTL(ctx, prefix+"{k2}").Val(); rest < 50*time.Second {
			t.Errorf("after the renewal: %v left, want a minute", rest)
		}
	})
}

// TestTooNew runs against a server of another version than it said: the
// library must find out by itself.
func TestTooNew(t *testing.T) {
	t.Parallel()
	rdb := goredis.NewClient(&goredis.Options{Addr: addresses(t, "DISTLOCK_TEST_REDIS_NODELEX")[0]})
	t.Cleanup(func() { rdb.Close() })
	rdb.AddHook(newerVersion{})
	ctx, prefix := within(t, 10*time.Second), freshPrefix()
	s := open(t, rdb, prefix)
	for i := range 3 {
		h, err := s.TryAcquire(ctx, request(fmt.Sprint("k", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.(distlock.Renewer).Renew(ctx, []distlock.Hold{h})[0]; err != nil {
			t.Errorf("Renew: %v", err)
		}
		if err := s.Release(ctx, h); err != nil {
			t.Errorf("Release: %v", err)
		}
	}
}

// newerVersion makes the server's INFO lie.
type newerVersion struct{}

func (newerVersion) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (newerVersion) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if c, ok := cmd.(*goredis.Cmd); ok && cmd.Name() == "info" {
			c.SetVal("redis_version:99.0.0\r\n")
			return nil
		}
		return next(ctx, cmd)
	}
}

func (newerVersion) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}
