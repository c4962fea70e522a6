package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/go-zookeeper/zk"
)

// onLink returns a lock client behind a proxy, whose session is open and which knows the
// node of key.
func (k *keeper) onLink(t *testing.T, ttl time.Duration, key string) (*distlock.Client, *proxy.Proxy) {
	t.Helper()
	link := proxy.Start(t, k.addrs[0])
	locks := k.locks(ttl, link.Addr())
	t.Cleanup(func() { link.Set(proxy.Pass, proxy.Pass) }) // before the client closes, so that it can
	release(t, acquire(t, locks, key))
	return locks, link
}

// Stands for: the node whose creation was never confirmed stands in the queue for as
// long as its session lives, with nobody who wants it, or its owner waits behind it.
func TestZooKeeperLostReplyOfACreation(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	for _, c := range []struct {
		name string
		away time.Duration // for which no server can be reached then
	}{{"nobody wants it any more", 0}, {"nobody wants it, and no server is there for a while", 3 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t)
			locks, link := k.onLink(t, ttl, "orphan")
			link.Set(proxy.Pass, proxy.Swallow)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				eventually(t, bound, "the node is there", func() bool { return len(k.nodes("orphan")) == 1 })
				cancel()
			}()
			if _, err := locks.Acquire(ctx, "orphan"); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want the caller's cancellation", err)
			}
			if c.away > 0 {
				link.Cut()
				pause(c.away)
			}
			link.Set(proxy.Pass, proxy.Pass)
			eventually(t, 5*time.Second, "the node is gone, long before its session", func() bool { return len(k.nodes("orphan")) == 0 })
			release(t, acquire(t, k.locks(ttl), "orphan"))
		})
	}
	t.Run("it is still wanted", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t)
		locks, link := k.onLink(t, ttl, "adopted")
		link.Set(proxy.Pass, proxy.Swallow)
		go func() {
			eventually(t, bound, "the node is there", func() bool { return len(k.nodes("adopted")) == 1 })
			link.Set(proxy.Pass, proxy.Pass)
		}()
		l, err := locks.TryAcquire(within(t, bound), "adopted")
		if err != nil {
			t.Fatal(err)
		}
		nodes := k.nodes("adopted")
		if len(nodes) != 1 {
			t.Fatalf("%d nodes, want the one that was made first", len(nodes))
		}
		_, stat, err := k.admin.Exists(nodes[0])
		if err != nil || distlock.Token(stat.Czxid) != l.Token() {
			t.Errorf("token %v of a node that was created by %v, %v", l.Token(), stat.Czxid, err)
		}
		release(t, l)
	})
	t.Run("its session has ended", func(t *testing.T) {
		t.Parallel()
		const ttl = 2 * time.Second
		k := newKeeper(t)
		locks, link := k.onLink(t, ttl, "stranger")
		link.Set(proxy.Pass, proxy.Swallow)
		refused := make(chan error, 1)
		go func() { // ends with the session
			_, err := locks.TryAcquire(t.Context(), "stranger")
			refused <- err
		}()
		eventually(t, bound, "the node is there", func() bool { return len(k.nodes("stranger")) == 1 })
		link.Set(proxy.Swallow, proxy.Swallow)
		old := k.nodes("stranger")
		if err := <-refused; err == nil || isContextError(err) {
			t.Errorf("got %v without an answer, want an error that is nobody's ctx's", err)
		}
		link.Set(proxy.Pass, proxy.Pass)
		var l *distlock.Lease
		eventually(t, bound, "the client is of use", func() (ok bool) {
			var err error
			l, err = locks.TryAcquire(within(t, bound), "stranger")
			return err == nil
		})
		if now := k.nodes("stranger"); len(now) != 1 || now[0] == old[0] {
			t.Errorf("it has %d nodes, want one of a session that lives", len(now))
		}
		release(t, l)
	})
}

// Stands for: a release whose answer is lost is taken for done and was not, and the key
// stays locked while the session lives; or is sent again and frees a later lock.
func TestZooKeeperLostReplyOfADeletion(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	for _, c := range []struct {
		name     string
		requests proxy.Mode
	}{{"it was done", proxy.Pass}, {"it never arrived", proxy.Swallow}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t)
			locks, link := k.onLink(t, ttl, "release")
			l := acquire(t, locks, "release")
			link.Set(c.requests, proxy.Swallow)
			go func() {
				if c.requests == proxy.Pass {
					eventually(t, bound, "the node is gone", func() bool { return len(k.nodes("release")) == 0 })
				} else {
					pause(300 * time.Millisecond)
				}
				link.Set(proxy.Pass, proxy.Pass)
			}()
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("got %v from a Release that was answered in the end, want nil", err)
			}
			if n := k.nodes("release"); len(n) != 0 {
				t.Errorf("%d nodes are left", len(n))
			}
			next := acquire(t, k.locks(ttl), "release")
			if err := l.Release(t.Context()); !errors.Is(err, distlock.ErrReleased) || !next.Valid() || len(k.nodes("release")) != 1 {
				t.Errorf("Release, called again: %v; it spares the next lock: %v", err, next.Valid())
			}
			release(t, next)
		})
	}
}

// Stands for: a wait that does not end with its session, or that goes on in a queue in
// which it has no place any more.
func TestZooKeeperWaiterLosesItsPlace(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	for _, c := range []struct {
		name string
		lose func(*keeper, string)
	}{
		{"its node is deleted", func(k *keeper, node string) {
			if err := k.admin.Delete(node, -1); err != nil {
				k.Fatal(err)
			}
		}},
		{"its session is ended", func(k *keeper, node string) { k.expel(node) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t)
			holder := acquire(t, k.locks(ttl), "place")
			waiter := await(t, k.locks(ttl), "place")
			mine := k.nodes("place")[0]
			var place string
			eventually(t, bound, "it waits", func() bool {
				last := place
				for _, n := range k.nodes("place") {
					if n != mine {
						place = n
					}
				}
				pause(50 * time.Millisecond)        // longer than the place of the attempt before the wait
				return place != "" && place == last // lasts
			})
			c.lose(k, place)
			eventually(t, bound, "it has another place", func() bool {
				n := k.nodes("place")
				return len(n) == 2 && n[0] != place && n[1] != place
			})
			if len(waiter.result) > 0 || !holder.Valid() {
				t.Error("it has a key that another holds")
			}
			release(t, holder)
			waiter.gets(t, bound)
		})
	}
}

// expel ends the session that node belongs to.
func (k *keeper) expel(node string) {
	k.Helper()
	_, stat, err := k.admin.Exists(node)
	if err != nil {
		k.Fatal(err)
	}
	session := stat.EphemeralOwner
	eventually(k, bound, "the session has ended", func() bool {
		_ = closeSession(within(k, time.Second), k.addrs[0], session)
		there, _, err := k.admin.Exists(node)
		return err == nil && !there
	})
}

// Stands for: a holder that is not told, or only by its next renewal, that an operator
// has deleted its node.
func TestZooKeeperHolderIsToldOfADeletion(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	k := newKeeper(t)
	locks, link := k.onLink(t, ttl, "deleted")
	for _, prepare := range []func(node string) error{
		func(string) error { return nil },
		func(node string) error { _, err := k.admin.Set(node, []byte("edited"), -1); return err }, // takes the watch with it
		func(string) error { link.Cut(); link.Set(proxy.Pass, proxy.Pass); return nil },           // so does this
	} {
		l := acquire(t, locks, "deleted")
		node := k.nodes("deleted")[0]
		if err := prepare(node); err != nil {
			t.Fatal(err)
		}
		if err := k.admin.Delete(node, -1); err != nil && err != zk.ErrNoNode {
			t.Fatal(err)
		}
		start := time.Now()
		eventually(t, 5*time.Second, "the holder is told", func() bool { return isClosed(l.Done()) })
		t.Logf("told after %v", time.Since(start))
		if err := l.Release(t.Context()); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("got %v from Release, want ErrLost", err)
		}
	}
}
