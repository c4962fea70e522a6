package main

import "context"

// etcdPeer measures the lock of etcd's own client beside the same floor.
func etcdPeer(ctx context.Context, p plan, a, b *etcdProcess) ([]line, error) {
	const key = "bench-peer-hand-over"
	var alone, aloneMean, busy, handOver, floorAlone, floorMean, floorBusy, floorHandOver record
	var g guard
	err := interleave(ctx, p,
		repeat(&aloneMean, &alone, func(ctx context.Context) error { return a.peerOnce(ctx, "bench-peer", nil) }),
		repeat(&floorMean, &floorAlone, func(ctx context.Context) error { return a.floorOnce(ctx, "bench-peer-floor", &g) }),
		&alone, &aloneMean, &floorAlone, &floorMean)
	if err == nil {
		err = interleave(ctx, p,
			together(&busy, p.keys, "bench-peer-%d", a.peerOnce),
			together(&floorBusy, p.keys, "bench-peer-floor-%d", a.floorOnce),
			&busy, &floorBusy)
	}
	if err == nil {
		side := etcdHandOvers(&handOver, a.peers(key), b.peers(key), a.queued(key+"/"))
		err = interleave(ctx, p, side, etcdSequences(&floorHandOver, a, b), &handOver, &floorHandOver)
	}
	return []line{
		compared("concurrency.Mutex: lock + unlock, p50", &alone, &floorAlone),
		compared("concurrency.Mutex: the same, 20 goroutines", &busy, &floorBusy),
		compared("concurrency.Mutex: hand-over, p50", &handOver, &floorHandOver),
		{Figure: "concurrency.Mutex: hand-over, p99", Unit: nanoseconds, Ours: handOver.p99(), Floor: floorHandOver.p99()},
	}, err
}
