package faults_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// etcdCount returns what a member counts under a name.
func etcdCount(t testing.TB, addr, name string) int {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("%s counts no %s", addr, name)
	return 0
}

// etcdHas is what a member keeps of its clients.
type etcdHas struct{ keys, leases, watches int }

func etcdHolds(t testing.TB, s *servers.Server, cli *clientv3.Client) etcdHas {
	t.Helper()
	keys, err := cli.Get(within(t, bound), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	leases, err := cli.Leases(within(t, bound))
	if err != nil {
		t.Fatal(err)
	}
	return etcdHas{int(keys.Count), len(leases.Leases), etcdCount(t, s.Addr(), "etcd_debugging_mvcc_watcher_total")}
}

// Stands for: leases, watches, keys and goroutines that failed tries leave behind, until
// the server or the process is full of them.
func TestEtcdFailedTriesLeaveNothing(t *testing.T) {
	// Not parallel: it counts the process's goroutines.
	s := servers.Start(t, servers.Etcd)
	cli := etcdDial(t, s.Addr())
	holder := acquire(t, etcdLocks(t, s.Addrs()), "held")
	locks := etcdLocks(t, s.Addrs())
	refused := func() {
		if _, err := locks.TryAcquire(within(t, bound), "held"); !errors.Is(err, distlock.ErrHeld) {
			t.Fatalf("got %v, want ErrHeld", err)
		}
	}
	refused()
	eventually(t, bound, "both sessions have their watch", func() bool { return etcdHolds(t, s, cli).watches == 2 })
	want, before := etcdHolds(t, s, cli), runtime.NumGoroutine()
	for range 1000 {
		refused()
	}
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i/10)*time.Millisecond)
		if l, err := locks.Acquire(ctx, "held"); err == nil {
			t.Fatalf("got a lease with token %v beside the holder", l.Token())
		}
		cancel()
	}
	var got etcdHas
	eventually(t, bound, "all is as it was", func() bool {
		got = etcdHolds(t, s, cli)
		return got == want && runtime.NumGoroutine() <= before
	})
	t.Logf("%+v, %d goroutines before", got, before)
	release(t, holder)
}

// Stands for: a renewal, a goroutine, a watch or a connection for every lock that is held.
func TestEtcdHeldLeasesShareAll(t *testing.T) {
	// Not parallel: it measures the process.
	const (
		leases = 1_000
		ttl    = 6 * time.Second
	)
	s := servers.Start(t, servers.Etcd)
	var streams, calls atomic.Int64
	cli := etcdDial(t, s.Addr())
	counted, err := clientv3.New(clientv3.Config{Endpoints: s.Addrs(), DialOptions: []grpc.DialOption{
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			streams.Add(1)
			return streamer(ctx, d, cc, method, opts...)
		}),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			calls.Add(1)
			return invoker(ctx, method, req, reply, cc, opts...)
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { counted.Close() })
	locks := etcdOn(t, counted, distlock.WithTTL(ttl))
	release(t, acquire(t, locks, "crowd-warm"))
	eventually(t, bound, "the session has its watch", func() bool { return etcdHolds(t, s, cli).watches == 1 })
	goroutines, heap := runtime.NumGoroutine(), liveHeap()
	held := acquireMany(t, locks, "crowd", leases)
	var each int64
	for end := time.Now().Add(bound); time.Now().Before(end); pause(time.Second) { // until what the calls needed is gone
		if each = (int64(liveHeap()) - int64(heap)) / leases; each < 1024 {
			break
		}
	}
	kept := etcdHolds(t, s, cli)
	streams.Store(0)
	calls.Store(0)
	low := runtime.NumGoroutine()
	for end := time.Now().Add(2 * ttl); time.Now().Before(end); pause(20 * time.Millisecond) {
		low = min(low, runtime.NumGoroutine())
	}
	t.Logf("%d leases: %d B of heap each, %d goroutines more, %+v on the server; in two TTLs %d renewals and %d other requests",
		leases, each, low-goroutines, kept, streams.Load(), calls.Load())
	if each >= 1024 || low > goroutines || kept.watches != 1 || kept.leases != 1 {
		t.Error("a held lease costs more than its key")
	}
	if n := streams.Load(); n < 5 || n > 8 {
		t.Errorf("got %d renewals in two TTLs, want about 6", n)
	}
	if n := calls.Load(); n > 8 {
		t.Errorf("got %d other requests in two TTLs, want one a renewal", n)
	}
	for _, l := range held {
		if !l.Valid() {
			t.Fatal(l.Err())
		}
	}
	if err := locks.Close(within(t, bound)); err != nil {
		t.Error(err)
	}
}

// liveHeap returns the bytes that are in use after a collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Stands for: a wake-up for every waiter at each release, so that a crowd costs its square.
func TestEtcdReleaseWakesOneClient(t *testing.T) {
	t.Parallel()
	const clients = 12
	s := servers.Start(t, servers.Etcd)
	l := acquire(t, etcdLocks(t, s.Addrs()), "crowd")
	cli := etcdDial(t, s.Addr())
	var waits []<-chan attained
	for i := range clients {
		waits = append(waits, attain(t, etcdLocks(t, s.Addrs()), "crowd"))
		eventually(t, bound, "it is in the queue", func() bool { return etcdQueue(t, cli, "crowd") == i+2 })
	}
	sent := func() int { return etcdCount(t, s.Addr(), "etcd_debugging_mvcc_events_total") }
	for i, w := range waits {
		before := sent()
		release(t, l)
		a := <-w
		if a.err != nil {
			t.Fatal(a.err)
		}
		if n := sent() - before; n > 4 {
			t.Errorf("release %d sent %d events", i, n)
		}
		l = a.lease
	}
	release(t, l)
}
