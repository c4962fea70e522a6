package etcd_test

import (
	"testing"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/memory"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestHeld(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client()
	put := func(l *distlock.Lease) bool {
		t.Helper()
		resp, err := s.admin.Txn(s.ctx).If(etcdlock.Held(l)).Then(clientv3.OpPut(s.prefix+"data", l.Token().String())).Commit()
		if err != nil {
			t.Fatal(err)
		}
		return resp.Succeeded
	}
	first := s.acquire(c, "a/b")
	if !put(first) {
		t.Error("a transaction of the holder was refused")
	}
	other := s.acquire(c, "a")
	s.release(first)
	if put(first) {
		t.Error("a transaction was carried out after the release")
	}
	second := s.acquire(c, "a/b")
	if put(first) {
		t.Error("a transaction was carried out under the next holder")
	}
	if !put(second) || !put(other) {
		t.Error("a transaction of a holder was refused")
	}
	if second.Token() <= first.Token() {
		t.Errorf("tokens: %v after %v", second.Token(), first.Token())
	}
	if _, err := s.admin.Revoke(s.ctx, s.leaseOf(s.keys("a%2Fb/")[0])); err != nil {
		t.Fatal(err)
	}
	if put(second) {
		t.Error("a transaction was carried out after the lease was revoked")
	}
}

func TestHeldOfAnotherBackend(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c, err := distlock.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	l := s.acquire(c, "a")
	for _, l := range []*distlock.Lease{l, nil} {
		if resp, err := s.admin.Txn(s.ctx).If(etcdlock.Held(l)).Commit(); err != nil || resp.Succeeded {
			t.Errorf("Held of no lease of etcd: got %v, %v", resp, err)
		}
	}
	s.release(l)
}
