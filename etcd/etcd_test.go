package etcd_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
)

func TestCheck(t *testing.T) {
	cli := clientv3.NewCtxClient(context.Background())
	ready := clientv3.NewCtxClient(context.Background())
	ready.KV, ready.Watcher, ready.Lease = struct{ clientv3.KV }{}, struct{ clientv3.Watcher }{}, struct{ clientv3.Lease }{}
	for _, c := range []struct {
		name string
		cli  *clientv3.Client
		o    *etcdlock.Options
		ttl  time.Duration
		want string // in the error; "": none
	}{
		{"nil client", nil, nil, time.Minute, "client"},
		{"empty client", cli, nil, time.Minute, "client"},
		{"defaults", ready, nil, 30 * time.Second, ""},
		{"short TTL", ready, nil, 1999 * time.Millisecond, "TTL"},
		{"long TTL", ready, nil, 25 * time.Hour, "TTL"},
		{"long prefix", ready, &etcdlock.Options{Prefix: strings.Repeat("a", 257)}, time.Minute, "prefix"},
	} {
		_, err := distlock.New(etcdlock.New(c.cli, c.o), distlock.WithTTL(c.ttl))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if !errors.Is(err, distlock.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an invalid %s", c.name, err, c.want)
		}
	}
	got, err := etcdlock.New(ready, nil).Check(distlock.Terms{TTL: 2001 * time.Millisecond, LockDelay: time.Millisecond})
	if want := (distlock.Terms{TTL: 3 * time.Second, LockDelay: time.Second}); got != want || err != nil {
		t.Errorf("Check rounds to %v, %v; want %v", got, err, want)
	}
}

func TestPing(t *testing.T) {
	s := newSpace(t)
	if err := s.client().Ping(s.ctx); err != nil {
		t.Fatal(err)
	}
	if left := s.keys(""); len(left) > 0 {
		t.Errorf("Ping left %q", left)
	}
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	nobody := dial(t, func(c *clientv3.Config) { c.Endpoints = []string{"127.0.0.1:1"} })
	if err := s.clientOn(nobody).Ping(ctx); err == nil {
		t.Error("Ping without a server: got nil")
	}
}

func TestNamespace(t *testing.T) { onEach(t, testNamespace) }

func testNamespace(s *space) {
	cli := s.dial()
	cli.KV = namespace.NewKV(cli.KV, s.prefix+"ns/")
	cli.Watcher = namespace.NewWatcher(cli.Watcher, s.prefix+"ns/")
	cli.Lease = namespace.NewLease(cli.Lease, s.prefix+"ns/")
	a := s.clientOn(cli, distlock.WithTTL(3*time.Second))
	l := s.acquire(a, "job")
	in := s.keys("ns/" + s.prefix + "job/")
	if len(in) != 1 {
		s.Fatalf("keys in the namespace: %q", in)
	}
	resp, err := cli.Txn(s.ctx).If(etcdlock.Held(l)).Then(clientv3.OpPut("done", "1")).Commit()
	if err != nil || !resp.Succeeded {
		s.Errorf("Held in a namespace: got %v, %v", resp, err)
	}
	next := s.wait(s.ctx, s.clientOn(cli), "job")
	s.eventually("a waiter in the namespace", func() bool { return len(s.keys("ns/"+s.prefix+"job/")) == 2 })
	s.release(l)
	s.release(s.got(next).lease)
	lost := s.acquire(a, "job")
	if _, err := s.admin.Delete(s.ctx, s.keys("ns/" + s.prefix + "job/")[0]); err != nil {
		s.Fatal(err)
	}
	s.ends(lost, 3*time.Second)
}

// ends waits for the loss of l.
func (s *space) ends(l *distlock.Lease, within time.Duration) time.Duration {
	s.Helper()
	start := time.Now()
	select {
	case <-l.Done():
	case <-time.After(within):
		s.Fatalf("the loss of a lease is not told within %v", within)
	}
	if err := l.Err(); !errors.Is(err, distlock.ErrLost) {
		s.Fatalf("Err: got %v, want ErrLost", err)
	}
	return time.Since(start)
}
