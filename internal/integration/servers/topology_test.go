package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

func TestMastersAreIndependent(t *testing.T) {
	t.Parallel()
	m := servers.Start(t, servers.MastersSpec{Of: servers.Valkey91, Count: 3})
	if got := len(m.Addrs()); got != 3 {
		t.Fatalf("got %d addresses, want 3", got)
	}
	redis(t, m.Addrs()[0], "SET k v")
	for _, addr := range m.Addrs()[1:] {
		if got := redis(t, addr, "EXISTS k"); got != ":0" {
			t.Errorf("got %q from %s, want :0", got, addr)
		}
	}
}

func TestClusterRedirectsToReachableAddresses(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, servers.ClusterSpec{Of: servers.Redis})
	moved := 0
	for i := range 30 {
		set := fmt.Sprintf("SET key%d v", i)
		reply := redis(t, c.Addrs()[0], set)
		// -MOVED SLOT ADDRESS
		if fields := strings.Fields(reply); fields[0] == "-MOVED" {
			moved++
			reply = redis(t, fields[2], set)
		}
		if reply != "+OK" {
			t.Errorf("%s: got %q, want +OK", set, reply)
		}
	}
	if moved == 0 || moved == 30 {
		t.Errorf("%d of 30 keys are on other nodes", moved)
	}
	servers.Do(t, c.Nodes[1].Kill, c.Nodes[1].Start)
	eventually(t, "the cluster is whole again", func() bool {
		return strings.Contains(redis(t, c.Addrs()[1], "CLUSTER INFO"), "cluster_state:ok")
	})
}

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.SentinelSpec{Of: servers.Redis, Replicas: 2})
	primary, err := s.Current(t.Context())
	if err != nil || primary != s.Primary {
		t.Fatalf("got %v, %v, want the primary", primary, err)
	}
	servers.Do(t, s.Primary.Kill)
	eventually(t, "a replica is the primary", func() bool {
		primary, err = s.Current(t.Context())
		return err == nil && primary != s.Primary &&
			strings.Contains(redis(t, primary.Addr(), "INFO replication"), "role:master")
	})
	if got := redis(t, primary.Addr(), "SET k v"); got != "+OK" {
		t.Errorf("got %q from the new primary, want +OK", got)
	}
	servers.Do(t, s.Primary.Start)
	eventually(t, "the old primary follows the new one", func() bool {
		return strings.Contains(redis(t, s.Primary.Addr(), "INFO replication"), "role:slave")
	})
}

func TestEntries(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, e := range servers.Entries() {
		if seen[e.Name] || seen[e.Env] || !strings.HasPrefix(e.Env, "DISTLOCK_TEST_") || e.Launch == nil {
			t.Errorf("bad or repeated entry %q, %q", e.Name, e.Env)
		}
		seen[e.Name], seen[e.Env] = true, true
	}
}
