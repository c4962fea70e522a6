package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// watchBound is how long a watch may take to begin.
const watchBound = time.Second

// A watch tells of the deletion of a key, or of those in a range. The zero value tells
// nothing.
type watch struct {
	events clientv3.WatchChan // closed when the watch is over
	cancel context.CancelFunc
}

// watch watches for the deletion of the key of that name, or of a range that opts end,
// from now on or from the revision that opts name. Its first event says that it was created, and
// after which revision.
//
// A watch from now on is one that the server tells at once. One from a
// revision that others have overtaken meanwhile first has to catch up, which
// the server does each 100 ms only.
func (s *session) watch(ctx context.Context, name string, opts ...clientv3.OpOption) watch {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	opts = append(opts, clientv3.WithFilterPut(), clientv3.WithCreatedNotify())
	late := time.AfterFunc(watchBound, cancel) // Watch blocks until it is created
	events := s.backend.client.Watch(ctx, name, opts...)
	late.Stop()
	return watch{events: events, cancel: cancel}
}

// stop ends the watch. The client's goroutine for it ends soon after.
func (w watch) stop() {
	if w.cancel != nil {
		w.cancel()
	}
}
