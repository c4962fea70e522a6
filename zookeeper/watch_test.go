package zookeeper_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// session opens a session on b, closed at the end, and returns a request for key on it.
func (s *space) session(b *zklock.Backend, key string) (distlock.Session, distlock.Request) {
	s.Helper()
	terms := distlock.Terms{TTL: 10 * time.Second}
	api, err := b.Open(within(s, bound), terms)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		_ = api.Close(ctx)
	})
	return api, distlock.Request{Key: key, Owner: distlock.NewOwner(), Terms: terms}
}

// Who loses a lock does not come to give it up, so the session keeps no record of it.
func TestALockThatWasDeletedIsForgotten(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	api, r := s.session(s.backend(), "k")
	lost := make(chan distlock.Owner, 1)
	api.(distlock.LossNotifier).NotifyLoss(func(owner distlock.Owner, _ error) { lost <- owner })
	h, err := api.TryAcquire(within(t, bound), r)
	is(t, "TryAcquire", err, nil)
	is(t, "delete", s.admin.Delete(s.root+"/k/"+s.children("k", 1)[0], -1), nil)
	select {
	case owner := <-lost:
		if owner != r.Owner {
			t.Error("another owner was told")
		}
	case <-time.After(bound):
		t.Fatal("the loss is not told")
	}
	if n := zklock.Known(api); n != 0 {
		t.Errorf("the session has records of %d owners, want none", n)
	}
	is(t, "Release", api.Release(within(t, bound), h), distlock.ErrLost)
}

// A holder's nodes may be closed to others, by its own ACL. Who then cannot watch the
// node before its own is told so, and does not ask again and again.
func TestAWaiterThatMayNotWatch(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for _, path := range []string{s.root, s.root + "/k"} { // not the holder's, so open to all
		if _, err := s.admin.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	holder, r := s.session(s.backend(func(o *zklock.Options) {
		o.Auth = []zklock.Auth{{Scheme: "digest", Credentials: []byte("user:password")}}
		o.ACL = zk.AuthACL(zk.PermAll)
	}), "k")
	_, err := holder.TryAcquire(within(t, bound), r)
	is(t, "TryAcquire", err, nil)
	wire := new(tap)
	waiter, r := s.session(s.backend(func(o *zklock.Options) { o.Dial = wire.dial }), "k")
	_, err = waiter.(distlock.Queuer).Acquire(within(t, bound), r)
	is(t, "Acquire behind a node that may not be read", err, zk.ErrNoAuth)
	reads := slices.DeleteFunc(wire.sent(), func(kind int) bool { return kind != getData })
	if len(reads) > 2 {
		t.Errorf("%d reads, want one of each of the two nodes", len(reads))
	}
	is(t, "Release of the place", waiter.Release(within(t, bound), distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms}), nil)
	s.children("k", 1)
	_, err = s.client(s.backend(), distlock.WithTTL(time.Second)).Acquire(within(t, bound), "k")
	if !errors.Is(err, zk.ErrNoAuth) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire by a client: got %v, want zk.ErrNoAuth before ctx has ended", err)
	}
}
