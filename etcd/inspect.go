package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/round"
	"github.com/distlock-go/distlock/internal/value"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect reads the queue of key in one linearizable request: it is as it was at
// some moment during the call, whatever member answers. Another request asks for
// the time that the holder's lease has left, of which a leader that is about to be
// replaced may give an old account, and which is counted in whole seconds. Keys
// without a lease count as little as they do for the lock. A key under a lease that
// is at the head of the queue and not of this library, such as that of “etcdctl
// lock”, is distlock.ErrForeign.
func (b *Backend) Inspect(ctx context.Context, key string) (distlock.LockInfo, error) {
	first, waiters, err := b.head(ctx, key)
	if err != nil || first.lease == 0 {
		return distlock.LockInfo{}, err
	}
	resp, err := b.client.TimeToLive(ctx, first.lease)
	if err != nil {
		return distlock.LockInfo{}, judge(ctx, err)
	}
	left := max(time.Duration(resp.TTL)*time.Second, time.Nanosecond) // 0 and less: it is about to end
	return distlock.LockInfo{
		Held: first.held, Token: first.token(), Holder: first.holder, Left: left, Waiters: waiters,
	}, nil
}

// A head is the first key of a queue. Without a lease there is none.
type head struct {
	held    bool // it is that of a grant; otherwise a lock-delay's
	name    string
	created int64
	lease   clientv3.LeaseID
	holder  string
}

// token is that of the grant, 0 for none.
func (h head) token() distlock.Token {
	if !h.held {
		return 0
	}
	return distlock.Token(h.created)
}

// head reads the queue of key, and counts who waits in it.
func (b *Backend) head(ctx context.Context, key string) (h head, waiters int, err error) {
	resp, err := b.client.Get(ctx, b.directory(key), clientv3.WithPrefix())
	if err != nil {
		return h, 0, judge(ctx, err)
	}
	queue := slices.DeleteFunc(resp.Kvs, func(kv *mvccpb.KeyValue) bool { return kv.Lease == 0 })
	if len(queue) == 0 {
		return h, 0, nil
	}
	first := slices.MinFunc(queue, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) })
	waiters = len(queue) - 1
	h = head{name: string(first.Key), created: first.CreateRevision, lease: clientv3.LeaseID(first.Lease)}
	if string(first.Value) == value.Broken {
		return h, waiters, nil
	}
	_, holder, ok := value.Parse(first.Value)
	if !ok || first.ModRevision != first.CreateRevision {
		return head{}, 0, fmt.Errorf("%w: the first key of the queue was written by somebody else", distlock.ErrForeign)
	}
	h.held, h.holder = true, holder
	return h, waiters, nil
}

// Break deletes the holder's key if its revision is t, in one transaction. With a
// delay it writes the key anew instead, under a lease for that long: it stays the
// first of the queue until that lease runs out, whatever becomes of who has broken
// the lock. Etcd counts in whole seconds, lets a lease run out up to a second late,
// and grants none for less than one and a half of its election timeouts, which is
// two seconds by default. What tells a holder its key is the revision, so it finds
// its lease lost at its next renewal, and waiters go on in their order.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	first, _, err := b.head(ctx, key)
	if err == nil {
		err = distlock.CheckPresent(first.token(), t)
	}
	switch {
	case err != nil:
		return err
	case delay > 0:
		return b.keepPlace(ctx, first, delay)
	}
	return b.replace(ctx, first, clientv3.OpDelete(first.name))
}

// replace does op if h has the lock.
func (b *Backend) replace(ctx context.Context, h head, op clientv3.Op) error {
	resp, err := b.client.Txn(ctx).If(isUntouched(h.name, h.created)).Then(op).Commit()
	if err == nil && !resp.Succeeded {
		err = fmt.Errorf("%w: it has just ended", distlock.ErrStale)
	}
	return timely(ctx, err)
}

// keepPlace has h's key go on for delay without being h's. A lease that has come to
// nothing is left to run out if it cannot be ended.
func (b *Backend) keepPlace(ctx context.Context, h head, delay time.Duration) error {
	lease, err := b.client.Grant(ctx, int64(round.Up(delay, time.Second)/time.Second))
	if err != nil {
		return judge(ctx, err)
	}
	err = b.replace(ctx, h, clientv3.OpPut(h.name, value.Broken, clientv3.WithLease(lease.ID)))
	switch {
	case err == nil: // the delay counts from now, or, where that fails, from a moment ago
		_, _ = b.client.KeepAliveOnce(ctx, lease.ID)
	case errors.Is(err, distlock.ErrStale):
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enterBound)
		defer cancel()
		_, _ = b.client.Revoke(ctx, lease.ID)
	}
	return err
}
