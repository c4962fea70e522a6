package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// Nothing that is not of the library's own form is told as a grant, or deleted.
func TestForeignDataIsNeitherTakenForAGrantNorBroken(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 30*time.Second)
		c, lock := client(t, rdb, prefix), prefix+"{k}"
		owner := strings.Repeat("a", 40)
		put := map[string]func() error{
			"a list": func() error { return rdb.RPush(ctx, lock, "x").Err() },
			"a hash": func() error { return rdb.HSet(ctx, lock, "f", "v").Err() },
		}
		for _, value := range []string{
			"", " ", "somebody", owner, owner + " ", owner + " 7", owner[1:] + " 7 x", "a" + owner + " 7 x", owner + " 0 x", owner + " 07 x",
			owner + " -7 x", owner + " 7e3 x", owner + " 9223372036854775808 x", strings.ToUpper(owner) + " 7 x", "broken ", "Broken",
		} {
			put["the string "+value] = func() error { return rdb.Set(ctx, lock, value, time.Hour).Err() }
		}
		for what, put := range put {
			rdb.Del(ctx, lock)
			if err := put(); err != nil {
				t.Fatal(err)
			}
			before := rdb.Dump(ctx, lock).Val()
			if info, err := c.Inspect(ctx, "k"); !errors.Is(err, distlock.ErrForeign) || info != (distlock.LockInfo{}) {
				t.Errorf("Inspect of %s: got %+v, %v; want ErrForeign", what, info, err)
			}
			if err := c.Break(ctx, "k", 7); !errors.Is(err, distlock.ErrForeign) && !errors.Is(err, distlock.ErrStale) {
				t.Errorf("Break of %s: got %v, want ErrForeign or ErrStale", what, err)
			}
			if rdb.Dump(ctx, lock).Val() != before || before == "" {
				t.Errorf("%s was changed", what)
			}
		}
	})
}

// Stands for: a holder whose renewal or release matched what keeps a broken key, or
// brought its lock back. The server's own commands and the scripts are tried.
func TestOldHolderDoesNotReachABrokenKey(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		for _, delay := range []time.Duration{0, time.Hour} {
			ctx := within(t, 30*time.Second)
			terms := distlock.Terms{TTL: time.Minute}
			b := redislock.New(rdb, &redislock.Options{Prefix: prefix})
			s, err := b.Open(ctx, terms)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close(context.Background()) })
			r := distlock.Request{Key: "k" + delay.String(), Owner: distlock.NewOwner(), Terms: terms, Holder: "h"}
			h, err := s.TryAcquire(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Break(ctx, r.Key, h.Token, delay); err != nil {
				t.Fatal(err)
			}
			unseen := distlock.Hold{Key: h.Key, Owner: h.Owner, Terms: h.Terms}
			for what, hold := range map[string]distlock.Hold{"the whole value": h, "the owner": unseen} {
				if err := s.(distlock.Renewer).Renew(ctx, []distlock.Hold{hold})[0]; !errors.Is(err, distlock.ErrLost) {
					t.Errorf("Renew by %s, delay %v: got %v, want ErrLost", what, delay, err)
				}
				if err := s.Release(ctx, hold); !errors.Is(err, distlock.ErrLost) {
					t.Errorf("Release by %s, delay %v: got %v, want ErrLost", what, delay, err)
				}
			}
			info, err := b.Inspect(ctx, r.Key)
			if kept := info.Left > delay-time.Minute && info.Left <= delay; err != nil || info.Held || !kept {
				t.Errorf("after it, delay %v: got %+v, %v", delay, info, err)
			}
		}
	})
}

// Stands for: a renewal that was under way beside a Break, arrived after it, and set
// the key again.
func TestRenewalsBesideABreakBringNothingBack(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, time.Minute)
		terms := distlock.Terms{TTL: time.Minute}
		b := redislock.New(rdb, &redislock.Options{Prefix: prefix})
		s, err := b.Open(ctx, terms)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(context.Background()) })
		for i := range 50 {
			h, err := s.TryAcquire(ctx, distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: terms})
			if err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			renewed := make(chan error, 1)
			go func() { // until it is lost
				for {
					if err := s.(distlock.Renewer).Renew(ctx, []distlock.Hold{h, h, h})[2]; err != nil {
						renewed <- err
						return
					}
				}
			}()
			if err := b.Break(ctx, "k", h.Token, 0); err != nil {
				t.Fatalf("round %d: Break: %v", i, err)
			}
			if err := <-renewed; !errors.Is(err, distlock.ErrLost) {
				t.Fatalf("round %d: Renew: %v, want ErrLost", i, err)
			}
			if info, err := b.Inspect(ctx, "k"); err != nil || info.Held || info.Left != 0 {
				t.Fatalf("round %d: after it: %+v, %v", i, info, err)
			}
		}
	})
}

// What the package says of Waiters.
func TestWaitersAreCountedWhereTheServerKnowsThem(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 30*time.Second)
		c := client(t, rdb, prefix)
		want := 0
		if _, cluster := rdb.(*goredis.ClusterClient); cluster {
			want = -1
		}
		if info, err := c.Inspect(ctx, "k"); err != nil || info.Waiters != want {
			t.Errorf("got %+v, %v; want %d waiters", info, err, want)
		}
	})
}
