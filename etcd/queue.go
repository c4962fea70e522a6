package etcd

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/value"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// enterBound is how long the request for a place may take.
const enterBound = 10 * time.Second

// A queue is one request in the queue of its lock.
type queue struct {
	session *session
	request distlock.Request
	dir     string // the directory of the lock
	own     string // the name of the session's key in it
}

func (s *session) queue(r distlock.Request) *queue {
	dir := s.backend.directory(r.Key)
	return &queue{session: s, request: r, dir: dir, own: s.name(dir)}
}

// try puts the own key if nobody holds or queues for the lock, and else reads it.
func (q *queue) try(ctx context.Context) (*clientv3.TxnResponse, error) {
	return q.session.backend.client.Txn(ctx).If(isFree(q.dir), q.absent()).Then(q.put()).Else(clientv3.OpGet(q.own)).Commit()
}

// absent is the condition that the own key is not there. A key that is put over another
// would keep that one's create revision, by which its place and its lock are known.
func (q *queue) absent() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(q.own), "=", 0)
}

// isStray reports whether the own key, which a try has read, has no lease: somebody has
// written over it.
func (q *queue) isStray(resp *clientv3.TxnResponse) bool {
	kvs := resp.Responses[0].GetResponseRange().Kvs
	return len(kvs) > 0 && kvs[0].Lease == 0
}

// sweep deletes the own key if it has no lease. With the session's name, it is no use to
// anybody else.
func (q *queue) sweep(ctx context.Context) error {
	_, err := q.session.backend.client.Txn(ctx).
		If(clientv3.Compare(clientv3.LeaseValue(q.own), "=", clientv3.NoLease)).
		Then(clientv3.OpDelete(q.own)).
		Commit()
	return err
}

func (q *queue) put() clientv3.Op {
	return clientv3.OpPut(q.own, value.Of(q.request), clientv3.WithLease(q.session.lease))
}

// A place is where a request stands.
type place struct {
	created int64  // create revision of the own key; 0: it is not there
	before  string // name of the key that must go first; "": none
	older   int64  // its create revision: the same name may come again behind ours
	isNext  bool   // whether that key is the first of all
	at      int64  // the revision at which this was so
}

func (p place) isFirst() bool { return p.created > 0 && p.before == "" }

// Acquire takes a place in the queue and waits until it is the first. The
// place is kept through failures of the cluster: the session's end is what
// ends the wait then. One that is deleted behind our back is taken anew.
//
// Where the session's key is there for another acquisition, say one that was
// given up and whose key is about to be deleted, that is waited for before.
func (s *session) Acquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	q := s.queue(r)
	p, err := q.enter(ctx)
	for err == nil && !p.isFirst() {
		p, err = q.advance(ctx, p)
	}
	if err != nil {
		return distlock.Hold{}, err
	}
	return s.granted(r, q.own, p.created), nil
}

// enter puts the own key unless the name is taken, and says where it stands.
// Only its errors may be refusals: later ones leave the key.
func (q *queue) enter(ctx context.Context) (place, error) {
	ctx, cancel := context.WithTimeout(ctx, enterBound)
	defer cancel()
	absent := q.absent()
	resp, err := q.session.backend.client.Txn(ctx).
		If(isFree(q.dir), absent).
		Then(q.put()).
		Else(clientv3.OpTxn([]clientv3.Cmp{absent}, []clientv3.Op{q.put()}, nil), clientv3.OpGet(q.dir, newestFirst(front)...)).
		Commit()
	if err != nil {
		return place{}, judge(ctx, err)
	}
	at := resp.Header.Revision
	if resp.Succeeded {
		return place{created: at, at: at}, nil
	}
	if p, ok := q.find(resp.Responses[1].GetResponseRange().Kvs, at, front); ok {
		return p, nil
	}
	return q.look(ctx, 0)
}

// newestFirst lists at most limit keys of a directory; 0 is no limit. With
// values: a server from 3.7 on leaves the leases out of a list of keys only.
func newestFirst(limit int64) []clientv3.OpOption {
	return []clientv3.OpOption{
		clientv3.WithPrefix(), clientv3.WithLimit(limit),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortDescend),
	}
}

// front is how many keys are read to find the own one, the one before, and whether that
// is the first.
const front = 3

// find looks for the own key in a part of the queue, newest first, which was asked for
// with a limit. It reports whether the own key and the one before are there.
func (q *queue) find(kvs []*mvccpb.KeyValue, at, limit int64) (place, bool) {
	p := place{at: at}
	for i, kv := range kvs {
		switch {
		case string(kv.Key) == q.own && !belongs(kv.Value, q.request.Owner):
			p.before, p.older = q.own, kv.CreateRevision
			return p, true
		case string(kv.Key) == q.own:
			p.created = kv.CreateRevision
		case p.created > 0 && kv.Lease != 0:
			p.before, p.older = string(kv.Key), kv.CreateRevision
			p.isNext = i == len(kvs)-1 && (limit == 0 || int64(len(kvs)) < limit)
			return p, true
		}
	}
	return p, false
}

// look reads where the own key stands, without reading the whole queue where
// its create revision is known.
func (q *queue) look(ctx context.Context, created int64) (place, error) {
	client := q.session.backend.client
	if created > 0 {
		resp, err := client.Get(ctx, q.dir, append(newestFirst(front), clientv3.WithMaxCreateRev(created))...)
		if err != nil {
			return place{}, err
		}
		if p, ok := q.find(resp.Kvs, resp.Header.Revision, front); ok || len(resp.Kvs) < front {
			return p, nil
		}
	}
	resp, err := client.Get(ctx, q.dir, newestFirst(0)...)
	if err != nil {
		return place{}, err
	}
	p, _ := q.find(resp.Kvs, resp.Header.Revision, 0)
	return p, nil
}
