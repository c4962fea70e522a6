package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/hashicorp/consul/api"
)

// consulRoot is a token for everything.
const consulRoot = "00000000-1111-2222-3333-444444444444"

// guardedConsul starts a server that refuses what no token allows.
func guardedConsul(t *testing.T) *servers.Server {
	t.Helper()
	spec := servers.Consul.WithArgs(
		fmt.Sprintf("-hcl=acl{enabled=true default_policy=\"deny\" tokens{master=%q agent=%q}}", consulRoot, consulRoot))
	spec.Ready = func(ctx context.Context, addr string) error {
		root := consulAt(t, addr, consulRoot)
		id, _, err := root.Session().CreateNoChecks(nil, new(api.WriteOptions).WithContext(ctx))
		if err == nil {
			_, err = root.Session().Destroy(id, new(api.WriteOptions).WithContext(ctx))
		}
		return err
	}
	return servers.Start(t, spec)
}

// consulToken makes a token with these rules.
func consulToken(t *testing.T, root *api.Client, name, rules string) *api.ACLToken {
	t.Helper()
	policy, _, err := root.ACL().PolicyCreate(&api.ACLPolicy{Name: name, Rules: rules}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := root.ACL().TokenCreate(&api.ACLToken{Policies: []*api.ACLTokenPolicyLink{{ID: policy.ID}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Stands for: locks that need more rights than are documented, and missing rights that
// look like a held key, a lost lease or a wait without end.
func TestConsulRights(t *testing.T) {
	t.Parallel()
	s := guardedConsul(t)
	root := consulAt(t, s.Addr(), consulRoot)
	const keys, sessions = `key_prefix "distlock/" { policy = "write" }`, `session_prefix "" { policy = "write" }`
	enough := consulToken(t, root, "enough", keys+sessions)

	locks := consulLocksOn(t, consulAt(t, s.Addr(), enough.SecretID), distlock.WithTTL(2*time.Second))
	if err := locks.Ping(within(t, bound)); err != nil {
		t.Errorf("got %v from Ping with the documented rights", err)
	}
	l := acquire(t, locks, "k")
	next := consulLocksOn(t, consulAt(t, s.Addr(), enough.SecretID))
	w := await(t, next, "k")
	throughout(t, 3*time.Second, "it is renewed", l.Valid)
	release(t, l)
	w.gets(t, bound)

	for name, rules := range map[string]string{
		"nothing": ``, "no sessions": keys, "no keys": sessions,
		"keys to read": sessions + `key_prefix "distlock/" { policy = "read" }`,
		"other keys":   sessions + `key_prefix "other/" { policy = "write" }`,
	} {
		token := consulToken(t, root, strings.ReplaceAll(name, " ", "-"), rules)
		c := consulLocksOn(t, consulAt(t, s.Addr(), token.SecretID))
		_, acquired := c.Acquire(within(t, bound), "k")
		_, tried := c.TryAcquire(within(t, bound), "k")
		for call, err := range map[string]error{"Ping": c.Ping(within(t, bound)), "Acquire": acquired, "TryAcquire": tried} {
			if err == nil || !strings.Contains(err.Error(), "Permission denied") ||
				errors.Is(err, distlock.ErrHeld) || errors.Is(err, distlock.ErrLost) {
				t.Errorf("%s with rights to %s: got %v, want that permission is denied", call, name, err)
			}
		}
	}
	release(t, acquire(t, locks, "k")) // nothing of them is left
}

// A token that is revoked ends the renewals: the lease is over by its deadline, and the
// key free after the session's time.
func TestConsulTokenThatIsRevokedEndsTheLeaseInTime(t *testing.T) {
	t.Parallel()
	s := guardedConsul(t)
	root := consulAt(t, s.Addr(), consulRoot)
	token := consulToken(t, root, "brief",
		`key_prefix "distlock/" { policy = "write" } session_prefix "" { policy = "write" }`)
	l := acquire(t, consulLocksOn(t, consulAt(t, s.Addr(), token.SecretID), distlock.WithTTL(2*time.Second)), "k")
	if _, err := root.ACL().TokenDelete(token.AccessorID, nil); err != nil {
		t.Fatal(err)
	}
	next := acquire(t, consulLocksOn(t, root), "k")
	if l.Valid() || time.Now().Before(l.Deadline()) {
		t.Errorf("the next holder is in, and the first lease is valid: %v, its deadline in %v", l.Valid(), time.Until(l.Deadline()))
	}
	if err := l.Err(); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	checkFence(t, "k", l.Token(), next.Token())
	release(t, next)
}

// Stands for: autopilot or an operator removes a node, and the sessions of its agent end
// at once, long before their TTL. The lock-delay keeps the next holder out meanwhile; a
// resource that is fenced refuses the old one in any case.
func TestConsulNodeThatIsRemoved(t *testing.T) {
	t.Parallel()
	const ttl, delay = 2 * time.Second, 3 * time.Second
	s := servers.Start(t, servers.Consul)
	admin := consulAt(t, s.Addr())
	self, err := admin.Agent().NodeName()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		delay time.Duration
	}{{"without delay", 0}, {"with delay", delay}} {
		t.Run(c.name, func(t *testing.T) {
			eventually(t, bound, "the node is in the catalog", func() bool {
				return servers.Consul.Ready(within(t, time.Second), s.Addr()) == nil
			})
			first := consulLocks(t, s.Addr(), distlock.WithTTL(ttl), distlock.WithLockDelay(c.delay))
			l := acquire(t, first, "removed")
			if _, err := admin.Catalog().Register(&api.CatalogRegistration{Node: "other", Address: "127.0.0.1"}, nil); err != nil {
				t.Fatal(err)
			}
			elsewhere := consulLocksOnNode(t, admin, "other") // it loses nothing
			bystander := acquire(t, elsewhere, "bystander")
			if _, err := admin.Catalog().Deregister(&api.CatalogDeregistration{Node: self}, nil); err != nil {
				t.Fatal(err)
			}
			var got *distlock.Lease
			eventually(t, bound, "the next holder is in", func() bool {
				var err error
				got, err = elsewhere.TryAcquire(within(t, time.Second), "removed")
				return err == nil
			})
			if c.delay >= ttl && (l.Valid() || time.Now().Before(l.Deadline())) {
				t.Errorf("the next holder is in %v before the deadline", time.Until(l.Deadline()))
			}
			checkFence(t, "removed", l.Token(), got.Token())
			if ok, _, _, err := admin.KV().Txn(api.KVTxnOps{consullock.Held(l)}, nil); ok || err != nil {
				t.Errorf("got %v, %v for the first lease's condition, want that it is not met", ok, err)
			}
			eventually(t, bound, "the first holder is told", func() bool { return isClosed(l.Done()) })
			if !bystander.Valid() {
				t.Errorf("a lease of another node's session ended: %v", bystander.Err())
			}
			release(t, got)
			release(t, bystander)
		})
	}
}
