package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	goredis "github.com/redis/go-redis/v9"
)

// Stands for: a server that lost its memory counts from 1 again, so that the next
// holder's token is refused and the old holder's is not; and the old holder is not told.
func TestLostMemoryIsToldAndTokensGrow(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	command := func(words ...any) func(*testing.T, *servers.Server, *goredis.Client) {
		return func(t *testing.T, _ *servers.Server, rdb *goredis.Client) { do(t, rdb, words...) }
	}
	for _, c := range []struct {
		name string
		lose func(*testing.T, *servers.Server, *goredis.Client)
	}{
		{"restarted empty", func(t *testing.T, s *servers.Server, _ *goredis.Client) { servers.Do(t, s.Kill, s.Start) }},
		{"flushed", command("flushall")},
		{"evicted", func(t *testing.T, _ *servers.Server, rdb *goredis.Client) {
			do(t, rdb, "config", "set", "maxmemory-policy", "allkeys-random", "maxmemory", "1")
			eventually(t, bound, "everything is evicted", func() bool {
				_ = rdb.Set(t.Context(), "filler", "", 0).Err() // makes it evict
				return value(t, rdb, lockName("memory"))+value(t, rdb, counterName("memory")) == ""
			})
			do(t, rdb, "config", "set", "maxmemory", "0")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name == "evicted" {
				covers(t, "redis", evicted)
			}
			s := servers.Start(t, servers.Redis)
			rdb := dial(t, s.Addr())
			old := acquire(t, locksAt(t, s.Addr(), distlock.WithTTL(ttl)), "memory")
			c.lose(t, s, rdb)
			start := time.Now()
			next := acquire(t, locksAt(t, s.Addr()), "memory")
			checkFence(t, "memory", old.Token(), next.Token())
			eventually(t, ttl/3+time.Second/2, "the holder is told by its next renewal", func() bool { return isClosed(old.Done()) })
			t.Logf("told %v after the loss", time.Since(start))
			for range 2 {
				if err := old.Release(t.Context()); !errors.Is(err, distlock.ErrLost) {
					t.Errorf("got %v from Release, want ErrLost", err)
				}
			}
			if !next.Valid() || value(t, rdb, lockName("memory")) == "" {
				t.Error("the next holder lost its lock with the old one's")
			}
			release(t, next)
		})
	}
}
