package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A session is one lease and all keys under it.
type session struct {
	backend *Backend
	lease   clientv3.LeaseID

	lifetime time.Duration

	ctx    context.Context // of listen; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // listen and lookForKeys
	check  chan struct{}  // tells listen to look for the keys of grants; capacity 1

	mu    sync.Mutex        // guards all below
	round uint32            // of such looks
	held  map[string]*grant // by the names of their keys
	lost  func(distlock.Owner, error)
}

var (
	_ distlock.Keeper       = (*session)(nil)
	_ distlock.Queuer       = (*session)(nil)
	_ distlock.LossNotifier = (*session)(nil)
)

// A grant is the State of a Hold.
type grant struct {
	owner   distlock.Owner
	seen    uint32 // the last round in which the key was there; guarded by session.mu
	name    string // of its key
	created int64  // create revision of its key: the token
}

// Lifetime is what the server has granted, but at most what was asked for.
func (s *session) Lifetime() time.Duration { return s.lifetime }

// isFree is the condition that nobody holds or queues for the lock of
// directory dir: no key there has a lease. Keys without one are ignored.
func isFree(dir string) clientv3.Cmp {
	return clientv3.Compare(clientv3.LeaseValue(dir).WithPrefix(), "=", clientv3.NoLease)
}

// TryAcquire puts the session's key if no other is there.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	q := s.queue(r)
	resp, err := q.try(ctx)
	if err == nil && !resp.Succeeded && q.isStray(resp) {
		if err = q.sweep(ctx); err == nil {
			resp, err = q.try(ctx)
		}
	}
	switch {
	case err != nil:
		return distlock.Hold{}, judge(ctx, err)
	case resp.Succeeded:
		return s.granted(r, q.own, resp.Header.Revision), nil
	}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) == 0 || !belongs(kvs[0].Value, r.Owner) {
		return distlock.Hold{}, distlock.Held(0)
	}
	p, err := q.look(ctx, 0) // it has asked before
	switch {
	case err != nil:
		return distlock.Hold{}, err
	case !p.isFirst():
		return distlock.Hold{}, errQueued
	}
	return s.granted(r, q.own, p.created), nil
}

// errQueued leaves the outcome open, so that the core gives the place up.
var errQueued = errors.New("the same owner stands in the queue")

// granted notes a grant. One that was noted under the same name is lost: there
// is but one key.
func (s *session) granted(r distlock.Request, name string, created int64) distlock.Hold {
	g := &grant{owner: r.Owner, name: name, created: created}
	s.mu.Lock()
	before, lost := s.held[name], s.lost
	g.seen = s.round
	s.held[name] = g
	s.mu.Unlock()
	if before != nil && before.owner != r.Owner && lost != nil {
		lost(before.owner, errKeyGone)
	}
	return distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: distlock.Token(created), State: g}
}

// isThere is the condition that the key of g is there, and the session's, whatever
// somebody may have written into it. That of a lock that was broken has another lease.
func (s *session) isThere(g *grant) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(g.name), "=", g.created),
		clientv3.Compare(clientv3.LeaseValue(g.name), "=", s.lease),
	}
}

// Release deletes the key if it is the one that was granted, by its revision. Of a
// grant that was never seen it reads first whose the key is.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	g, ok := h.State.(*grant)
	switch {
	case !ok:
		found, err := s.find(ctx, h)
		if err != nil {
			return err
		}
		g = found
	case g.owner != h.Owner:
		return distlock.ErrLost
	}
	s.forget(g)
	resp, err := s.backend.client.Txn(ctx).If(s.isThere(g)...).Then(clientv3.OpDelete(g.name)).Commit()
	switch {
	case err != nil:
		return judge(ctx, err)
	case !resp.Succeeded:
		return distlock.ErrLost
	}
	return nil
}

// find reads the key of a hold that was never seen. An error matches ErrLost
// if it is not there or another owner's.
func (s *session) find(ctx context.Context, h distlock.Hold) (*grant, error) {
	name := s.name(s.backend.directory(h.Key))
	resp, err := s.backend.client.Get(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case len(resp.Kvs) == 0 || !belongs(resp.Kvs[0].Value, h.Owner):
		return nil, distlock.ErrLost
	}
	return &grant{owner: h.Owner, name: name, created: resp.Kvs[0].CreateRevision}, nil
}

// forget looks for the key of g no more.
func (s *session) forget(g *grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.held[g.name]; now != nil && now.owner == g.owner {
		delete(s.held, g.name)
	}
}

// Close ends what listens and then the lease, and all keys with it.
func (s *session) Close(ctx context.Context) error {
	s.cancel()
	s.work.Wait()
	_, err := s.backend.client.Revoke(ctx, s.lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}
