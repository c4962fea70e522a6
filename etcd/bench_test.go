package etcd_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// floor is the least that a lock on etcd can cost: one lease for all, a
// transaction to put a key and one to delete it, and no care for anything.
type floor struct {
	cli   *clientv3.Client
	lease clientv3.LeaseID
	space *space
}

func newFloor(s *space) *floor {
	cli := dial(s)
	resp, err := cli.Grant(s.ctx, 600)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _, _ = cli.Revoke(context.Background(), resp.ID) })
	return &floor{cli: cli, lease: resp.ID, space: s}
}

func (f *floor) cycle(key string) {
	key = f.space.prefix + "floor/" + key
	absent := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	put, err := f.cli.Txn(f.space.ctx).If(absent).Then(clientv3.OpPut(key, "", clientv3.WithLease(f.lease))).Commit()
	if err != nil || !put.Succeeded {
		f.space.Errorf("put: %v", err)
		return
	}
	mine := clientv3.Compare(clientv3.CreateRevision(key), "=", put.Header.Revision)
	if _, err := f.cli.Txn(f.space.ctx).If(mine).Then(clientv3.OpDelete(key)).Commit(); err != nil {
		f.space.Errorf("delete: %v", err)
	}
}

func cycle(s *space, c *distlock.Client, key string) {
	l, err := c.Acquire(s.ctx, key)
	if err != nil {
		s.Errorf("Acquire: %v", err)
		return
	}
	if err := l.Release(s.ctx); err != nil {
		s.Errorf("Release: %v", err)
	}
}

// samples are durations of one kind.
type samples []time.Duration

func (s *samples) time(f func()) {
	start := time.Now()
	f()
	*s = append(*s, time.Since(start))
}

func (s samples) at(percent int) float64 {
	slices.Sort(s)
	return float64(s[len(s)*percent/100].Microseconds())
}

// BenchmarkAcquireRelease takes turns with the floor, so that both see the
// same weather.
func BenchmarkAcquireRelease(b *testing.B) {
	s := newSpace(b)
	f, c := newFloor(s), s.client()
	cycle(s, c, "job")
	f.cycle("job")
	var floors, ours samples
	for b.Loop() {
		floors.time(func() { f.cycle("job") })
		ours.time(func() { cycle(s, c, "job") })
	}
	b.ReportMetric(floors.at(50), "floor-p50-us")
	b.ReportMetric(ours.at(50), "p50-us")
	b.ReportMetric(ours.at(50)/floors.at(50), "x-floor")
}

// BenchmarkTwentyWorkers is the same with 20 workers on keys of their own:
// rounds of 20 × 10 cycles.
func BenchmarkTwentyWorkers(b *testing.B) {
	s := newSpace(b)
	f, c := newFloor(s), s.client()
	round := func(cycle func(key string)) {
		var wg sync.WaitGroup
		for i := range 20 {
			key := fmt.Sprint("job-", i)
			wg.Go(func() {
				for range 10 {
					cycle(key)
				}
			})
		}
		wg.Wait()
	}
	cycle(s, c, "job")
	var floors, ours samples
	for b.Loop() {
		floors.time(func() { round(f.cycle) })
		ours.time(func() { round(func(key string) { cycle(s, c, key) }) })
	}
	b.ReportMetric(floors.at(50)/200, "floor-us/cycle")
	b.ReportMetric(ours.at(50)/200, "us/cycle")
	b.ReportMetric(ours.at(50)/floors.at(50), "x-floor")
}

// BenchmarkHandOver compares a hand-over to a waiter of another client with a
// release and an acquire one after the other.
func BenchmarkHandOver(b *testing.B) {
	s := newSpace(b)
	x, y := s.client(), s.client()
	cycle(s, x, "job")
	cycle(s, y, "job")
	var sequence, handOver samples
	for b.Loop() {
		l := s.acquire(x, "alone")
		sequence.time(func() {
			s.release(l)
			l = s.acquire(y, "alone")
		})
		s.release(l)
		l = s.acquire(x, "job")
		next := s.wait(s.ctx, y, "job")
		s.queued("job", 2)
		time.Sleep(5 * time.Millisecond) // for the watch
		start := time.Now()
		s.release(l)
		r := s.got(next)
		handOver = append(handOver, r.at.Sub(start))
		s.release(r.lease)
	}
	b.ReportMetric(sequence.at(50), "sequence-p50-us")
	b.ReportMetric(handOver.at(50), "p50-us")
	b.ReportMetric(handOver.at(99), "p99-us")
	b.ReportMetric(handOver.at(50)/sequence.at(50), "x-sequence")
}

// BenchmarkPingPong is two clients that take the same lock all the time: how
// often it changes hands, whatever the watch has been told by then.
func BenchmarkPingPong(b *testing.B) {
	s := newSpace(b)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var waits samples
	n := 0
	clients := []*distlock.Client{s.client(), s.client()}
	for _, c := range clients {
		cycle(s, c, "job")
	}
	b.ResetTimer()
	for _, c := range clients {
		wg.Go(func() {
			for {
				start := time.Now()
				l, err := c.Acquire(s.ctx, "job")
				if err != nil {
					s.Errorf("Acquire: %v", err)
					return
				}
				mu.Lock()
				waits = append(waits, time.Since(start))
				n++
				done := n > b.N
				mu.Unlock()
				if err := l.Release(s.ctx); err != nil || done {
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(waits.at(50), "wait-p50-us")
	b.ReportMetric(waits.at(99), "wait-p99-us")
}
