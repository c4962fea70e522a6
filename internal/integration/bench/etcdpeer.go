package main

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// etcdPeer measures the lock of etcd's own client beside the same floor.
func etcdPeer(ctx context.Context, p plan, a, b *etcdProcess) ([]line, error) {
	var alone, aloneMean, busy, handOver, floorAlone, floorMean, floorBusy, floorHandOver record
	var ga, gb guard
	err := interleave(ctx, p,
		repeat(&aloneMean, &alone, func(ctx context.Context) error { return a.peerOnce(ctx, "bench-peer", &ga) }),
		repeat(&floorMean, &floorAlone, func(ctx context.Context) error { return a.floorOnce(ctx, "bench-peer-floor", &gb) }),
		&alone, &aloneMean, &floorAlone, &floorMean)
	if err == nil {
		err = interleave(ctx, p,
			together(&busy, p.keys, "bench-peer-%d", a.peerOnce),
			together(&floorBusy, p.keys, "bench-peer-floor-%d", a.floorOnce),
			&busy, &floorBusy)
	}
	if err == nil {
		err = interleave(ctx, p, peerHandOvers(&handOver, a, b), etcdSequences(&floorHandOver, a, b), &handOver, &floorHandOver)
	}
	return []line{
		compared("concurrency.Mutex: lock + unlock, p50", &alone, &floorAlone),
		compared("concurrency.Mutex: the same, 20 goroutines", &busy, &floorBusy),
		compared("concurrency.Mutex: hand-over, p50", &handOver, &floorHandOver),
		{Figure: "concurrency.Mutex: hand-over, p99", Unit: nanoseconds, Ours: handOver.p99(), Floor: floorHandOver.p99()},
	}, err
}

// peerHandOvers lets a hold and b wait.
func peerHandOvers(r *record, a, b *etcdProcess) side {
	const key = "bench-peer-hand-over"
	return etcdTimes(r, func(ctx context.Context) (time.Duration, error) {
		held, next := concurrency.NewMutex(a.peer, key), concurrency.NewMutex(b.peer, key)
		if err := held.Lock(ctx); err != nil {
			return 0, err
		}
		type grant struct {
			err error
			at  time.Time
		}
		granted := make(chan grant, 1)
		go func() { // ends with the grant, which is awaited
			err := next.Lock(ctx)
			granted <- grant{err, time.Now()}
		}()
		waits := func() (bool, error) {
			r, err := a.cli.Get(ctx, key+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			return err == nil && r.Count == 2, err
		}
		for ok, err := waits(); !ok; ok, err = waits() {
			if err = errors.Join(err, sleep(ctx, hold/10)); err != nil {
				return 0, err
			}
		}
		time.Sleep(hold)
		start := time.Now()
		err := held.Unlock(ctx)
		g := <-granted
		if err = errors.Join(err, g.err); err != nil {
			return 0, err
		}
		return g.at.Sub(start), next.Unlock(ctx)
	})
}
