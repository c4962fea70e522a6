package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
	goredis "github.com/redis/go-redis/v9"
)

// Stands for: a failover to a replica that had not got the grant lets two holders in.
// That is so on asynchronous replication; what is promised is that the later token is
// larger, so that the resource keeps the older holder out.
func TestUnreplicatedGrantIsFencedOff(t *testing.T) {
	t.Parallel()
	covers(t, "redis", asyncFailover)
	p := servers.Start(t, servers.PairSpec{Of: servers.Redis})
	const ttl = 5 * time.Second
	for range 5 { // the replica knows a counter, though not the last one
		release(t, acquire(t, locksAt(t, p.Primary.Addr()), "pair"))
	}
	eventually(t, bound, "the replica has the counter", func() bool {
		return value(t, dial(t, p.Replica.Addr()), counterName("pair")) != ""
	})
	p.Link.Set(proxy.Swallow, proxy.Swallow)
	old := acquire(t, locksAt(t, p.Primary.Addr(), distlock.WithTTL(ttl)), "pair")
	servers.Do(t, p.Primary.Kill, p.Promote)
	next, err := locksAt(t, p.Replica.Addr()).TryAcquire(t.Context(), "pair")
	if err != nil {
		t.Fatalf("got %v, want the grant that the documentation warns of", err)
	}
	t.Logf("both hold: %v, old token %v, next token %v", old.Valid() && next.Valid(), old.Token(), next.Token())
	checkFence(t, "pair", old.Token(), next.Token())
	eventually(t, ttl, "the old holder is told by its deadline", func() bool { return isClosed(old.Done()) })
	release(t, next)
}

// Stands for: a client that knows only the primary of yesterday, or that hangs on its
// dead connections, after Sentinel has promoted another.
func TestClientFollowsSentinelsFailover(t *testing.T) {
	t.Parallel()
	z := servers.Start(t, servers.SentinelSpec{Of: servers.Redis})
	rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName: servers.SentinelMaster, SentinelAddrs: z.Addrs(),
	})
	t.Cleanup(func() { rdb.Close() })
	locks := lockOn(t, rdb, distlock.WithTTL(3*time.Second))
	before := acquire(t, locks, "sentinel-before")
	release(t, acquire(t, locks, "sentinel"))
	servers.Do(t, z.Primary.Kill)
	start := time.Now()
	var l *distlock.Lease
	eventually(t, bound, "a lock is granted by the new primary", func() bool {
		var err error
		l, err = locks.TryAcquire(within(t, time.Second), "sentinel")
		return err == nil
	})
	t.Logf("granted %v after the primary was killed", time.Since(start))
	if l.Token() <= before.Token() {
		t.Errorf("got token %v after %v", l.Token(), before.Token())
	}
	throughout(t, 4*time.Second, "it is renewed there", l.Valid)
	if before.Valid() { // replicated in time, and renewed by the new primary: fine, if it is there
		release(t, before)
	}
	release(t, l)
}

// Stands for: one node of a cluster is down, and either nothing works any more or the
// error is a time-out that names no cause.
func TestClusterGoesOnWithoutANode(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, servers.ClusterSpec{Of: servers.Redis.WithArgs("--cluster-require-full-coverage", "no")})
	rdb := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { rdb.Close() })
	locks := lockOn(t, rdb, distlock.WithTTL(3*time.Second))
	const lost = 1
	keys := make([]string, len(c.Nodes)) // one on each node
	for i := 0; keys[0] == "" || keys[1] == "" || keys[2] == ""; i++ {
		key := fmt.Sprint("cluster-", i)
		slot, err := rdb.ClusterKeySlot(t.Context(), lockName(key)).Result()
		if err != nil {
			t.Fatal(err)
		}
		keys[int(slot)*len(c.Nodes)/16384] = key
	}
	var held []*distlock.Lease
	for _, key := range keys {
		held = append(held, acquire(t, locks, key))
	}
	servers.Do(t, c.Nodes[lost].Kill)
	eventually(t, bound, "its holder is told", func() bool { return isClosed(held[lost].Done()) })
	eventually(t, bound, "the cluster tells that the slot is not served", func() bool {
		_, err := locks.TryAcquire(within(t, time.Second), keys[lost])
		if err == nil || errors.Is(err, distlock.ErrHeld) {
			t.Fatalf("got %v for a key of the node that is down", err)
		}
		return strings.Contains(err.Error(), "CLUSTERDOWN") || strings.Contains(err.Error(), "refused")
	})
	for i, l := range held {
		if i == lost {
			continue
		}
		if !l.Valid() {
			t.Errorf("%s, on a healthy node: %v", keys[i], l.Err())
		}
		release(t, l)
		release(t, acquire(t, locks, keys[i]))
	}
	servers.Do(t, c.Nodes[lost].Start)
	eventually(t, bound, "its keys can be locked again", func() bool {
		l, err := locks.TryAcquire(within(t, time.Second), keys[lost])
		if err != nil {
			return false
		}
		if l.Token() <= held[lost].Token() {
			t.Errorf("got token %v after %v", l.Token(), held[lost].Token())
		}
		release(t, l)
		return true
	})
}
