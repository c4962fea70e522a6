package etcd_test

import (
	"context"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// behind is a watcher of a member that is behind: first it tells that all keys but the
// latest were deleted, long ago.
type behind struct {
	clientv3.Watcher
	admin *clientv3.Client
}

func (b behind) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	now := b.Watcher.Watch(ctx, key, opts...)
	end := string(clientv3.OpGet(key, opts...).RangeBytes())
	oldest := []clientv3.OpOption{clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)}
	if end != "" {
		oldest = append(oldest, clientv3.WithRange(end))
	}
	resp, err := b.admin.Get(ctx, key, oldest...)
	header := &etcdserverpb.ResponseHeader{Revision: 1}
	all := make(chan clientv3.WatchResponse, 2)
	all <- clientv3.WatchResponse{Header: header, Created: true}
	if err == nil && len(resp.Kvs) > 1 {
		first := resp.Kvs[0]
		all <- clientv3.WatchResponse{Header: header, Events: []*clientv3.Event{{
			Type: clientv3.EventTypeDelete,
			Kv:   &mvccpb.KeyValue{Key: first.Key, ModRevision: first.CreateRevision - 1},
		}}}
	}
	go func() { // ends with the watch
		defer close(all)
		for r := range now {
			select {
			case all <- r:
			case <-ctx.Done():
			}
		}
	}()
	return all
}

// The names of keys come again, so a deletion that a late member tells of may be that of
// an earlier key of the holder's.
func TestOldNewsGrantNothing(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	l := s.acquire(s.client(), "job")
	cli := dial(t)
	cli.Watcher = behind{cli.Watcher, s.admin}
	next := s.wait(s.ctx, s.clientOn(cli), "job")
	s.queued("job", 2)
	select {
	case r := <-next:
		t.Fatalf("granted beside the holder: %v", r)
	case <-time.After(500 * time.Millisecond):
	}
	s.release(l)
	r := s.got(next)
	if r.err != nil || r.lease.Token() <= l.Token() {
		t.Errorf("got %v after %v, %v", r.lease.Token(), l.Token(), r.err)
	}
	s.release(r.lease)
}
