package faults_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// keeper is a ZooKeeper service, one server or an ensemble, and one test's part of it.
type keeper struct {
	testing.TB
	addrs []string
	root  string
	admin *zk.Conn
	tick  time.Duration // of the servers
}

// healthyKeeper is a server that no test harms.
var healthyKeeper = sync.OnceValues(func() (*servers.Server, error) {
	return servers.ZooKeeper.Launch(context.Background())
})

// newKeeper returns t's part of the service at addrs, or of the healthy server.
func newKeeper(t testing.TB, addrs ...string) *keeper {
	t.Helper()
	if len(addrs) == 0 {
		s, err := healthyKeeper()
		if err != nil {
			t.Fatal(err)
		}
		addrs = s.Addrs()
	}
	k := &keeper{TB: t, addrs: addrs, root: "/test-" + distlock.NewOwner().Text(), tick: servers.ZooKeeperTick}
	k.admin = k.connect(addrs...)
	return k
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// connect returns a connection of the client library's own.
func (k *keeper) connect(addrs ...string) *zk.Conn {
	k.Helper()
	c, _, err := zk.Connect(addrs, 20*time.Second, zk.WithLogger(noLog{}), zk.WithLogInfo(false))
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(c.Close)
	return c
}

// locks returns a lock client over addrs, or over all of the service's.
func (k *keeper) locks(ttl time.Duration, addrs ...string) *distlock.Client {
	k.Helper()
	if len(addrs) == 0 {
		addrs = k.addrs
	}
	c, _ := k.locksOver(new(dialled), ttl, addrs...)
	return c
}

// dialled remembers which server a lock client has connected to.
type dialled struct {
	mu   sync.Mutex // guards last
	last string
}

func (d *dialled) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		d.mu.Lock()
		d.last = addr
		d.mu.Unlock()
	}
	return c, err
}

func (d *dialled) server() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (k *keeper) locksOver(d *dialled, ttl time.Duration, addrs ...string) (*distlock.Client, *dialled) {
	k.Helper()
	o := &zklock.Options{Root: k.root, Tick: k.tick, Dial: d.dial}
	c, err := distlock.New(zklock.New(addrs, o), distlock.WithTTL(ttl))
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		_ = c.Close(ctx) // an error says only that the server is gone
	})
	return c, d
}

// parent is the documented node of a plain key.
func (k *keeper) parent(key string) string { return k.root + "/" + key }

// nodes returns what the server has of the lock of key.
func (k *keeper) nodes(key string) []string {
	k.Helper()
	if _, err := k.admin.Sync("/"); err != nil { // what the server behind admin has may be old
		k.Fatal(err)
	}
	names, _, err := k.admin.Children(k.parent(key))
	if err != nil && err != zk.ErrNoNode {
		k.Fatal(err)
	}
	for i := range names {
		names[i] = k.parent(key) + "/" + names[i]
	}
	slices.Sort(names)
	return names
}

// queued reports whether n clients stand in the queue of key, each for good: a waiter's
// first place is that of an attempt, which it leaves when it finds itself refused.
func (k *keeper) queued(key string, n int) bool {
	k.Helper()
	nodes, last := k.nodes(key), 0
	for _, path := range nodes {
		seq, err := strconv.Atoi(path[len(path)-10:])
		if err != nil {
			k.Fatal(err)
		}
		last = max(last, seq)
	}
	return len(nodes) == n && last >= 2*(n-1)
}

// figure returns a number from the server's statistics.
func (k *keeper) figure(name string) int {
	k.Helper()
	total := 0
	for _, a := range k.addrs {
		text, err := servers.ZooKeeperAsk(within(k, bound), a, "mntr")
		if err != nil {
			k.Fatal(err)
		}
		for line := range strings.Lines(text) {
			if v, ok := strings.CutPrefix(line, name); ok {
				n, err := strconv.Atoi(strings.TrimSpace(v))
				if err != nil {
					k.Fatal(err)
				}
				total += n
			}
		}
	}
	return total
}

// leads returns the member that is the leader, once there is one.
func leads(t testing.TB, e *servers.Ensemble) (leader *servers.Member) {
	t.Helper()
	eventually(t, bound, "a leader", func() bool {
		for _, m := range e.Members {
			text, err := servers.ZooKeeperAsk(within(t, time.Second), m.Addr(), "srvr")
			if err == nil && strings.Contains(text, "Mode: leader") {
				leader = m
				return true
			}
		}
		return false
	})
	return leader
}

// allFollow waits until one member leads and all others follow it. One that wakes up goes on
// leading, and serving, until it is told better; and if the leader is struck while another
// member is about to join it, that member waits for it for initLimit ticks.
func allFollow(t testing.TB, e *servers.Ensemble) {
	t.Helper()
	eventually(t, bound, "one leads and all others follow", func() bool {
		var states []string
		for _, m := range e.Members {
			text, _ := servers.ZooKeeperAsk(within(t, time.Second), m.Addr(), "mntr") // none: it does not serve
			for line := range strings.Lines(text) {
				if name, value, _ := strings.Cut(line, "\t"); name == "zk_server_state" || name == "zk_synced_followers" {
					states = append(states, strings.TrimSpace(value))
				}
			}
		}
		slices.Sort(states)
		want := slices.Repeat([]string{"follower"}, len(e.Members)-1)
		return slices.Equal(states, append([]string{fmt.Sprint(len(want))}, append(want, "leader")...))
	})
}

// memberAt returns the member at addr.
func memberAt(t testing.TB, e *servers.Ensemble, addr string) *servers.Member {
	t.Helper()
	for _, m := range e.Members {
		if m.Addr() == addr {
			return m
		}
	}
	t.Fatalf("no member at %q", addr)
	return nil
}

// follower returns a member that is not the leader.
func follower(t testing.TB, e *servers.Ensemble) *servers.Member {
	t.Helper()
	leader := leads(t, e)
	for _, m := range e.Members {
		if m != leader {
			return m
		}
	}
	t.Fatal("an ensemble of one")
	return nil
}

// besides returns the addresses of all members but m.
func besides(e *servers.Ensemble, m *servers.Member) (addrs []string) {
	for _, o := range e.Members {
		if o != m {
			addrs = append(addrs, o.Addr())
		}
	}
	return addrs
}
