package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

// consulEnv names the server, as for the tests.
const consulEnv = "DISTLOCK_TEST_CONSUL"

// consul compares distlock on Consul with a floor by hand, and package api's own Lock with
// the same floor.
func consul(ctx context.Context, p plan) ([]line, error) {
	addr := os.Getenv(consulEnv)
	var lines []line
	for _, part := range []func(context.Context, plan, string) ([]line, error){
		consulAlone, consulBusy, consulHandOver, consulHeld,
	} {
		got, err := part(ctx, p, addr)
		if err != nil {
			return nil, err
		}
		lines = append(lines, got...)
	}
	return lines, nil
}

// describeConsul says on what is measured.
func describeConsul(ctx context.Context, addr string) (string, error) {
	proc, err := newConsulProcess(addr)
	if err != nil {
		return "", err
	}
	defer proc.close()
	var self struct{ Config struct{ Version string } }
	_, err = proc.client.Raw().Query("/v1/agent/self", &self, new(api.QueryOptions).WithContext(ctx))
	return fmt.Sprintf("Consul %s, %s, %s/%s, %d CPUs", self.Config.Version, runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), err
}

// A consulProcess stands for one: a lock client and a session for the floor, on
// connections of their own.
type consulProcess struct {
	client  *api.Client
	lock    *distlock.Client
	session string
	sent    atomic.Int64 // requests
}

// newConsulProcess connects to addr. Close it.
func newConsulProcess(addr string, opts ...distlock.Option) (*consulProcess, error) {
	p := &consulProcess{}
	config := api.DefaultConfig()
	config.Address = addr
	config.Transport.MaxIdleConnsPerHost = 2 * poolSize
	next := config.Transport
	config.HttpClient = &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		p.sent.Add(1)
		return next.RoundTrip(r)
	})}
	var err error
	if p.client, err = api.NewClient(config); err != nil {
		return nil, err
	}
	if p.lock, err = distlock.New(consullock.New(p.client, nil), opts...); err != nil {
		return nil, err
	}
	p.session, _, err = p.client.Session().CreateNoChecks(&api.SessionEntry{TTL: "60s"}, nil)
	return p, err
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (p *consulProcess) close() error {
	_, err := p.client.Session().Destroy(p.session, nil)
	return errors.Join(err, p.lock.Close(context.Background()))
}

// once acquires key, enters and leaves g, and releases.
func (p *consulProcess) once(ctx context.Context, key string, g *guard) error {
	l, err := p.lock.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(l.Token()), g.leave(), l.Release(ctx))
}

// floorOnce does the same by hand: without token, waiting and renewal. The session's
// second lock of a key would succeed too, so the guard comes first.
func (p *consulProcess) floorOnce(ctx context.Context, key string, g *guard) error {
	for g.enter(0) != nil {
		runtime.Gosched()
	}
	pair := &api.KVPair{Key: key, Value: []byte(floorOwner), Session: p.session}
	o := new(api.WriteOptions).WithContext(ctx)
	ok, _, err := p.client.KV().Acquire(pair, o)
	if err == nil && ok {
		ok, _, err = p.client.KV().Release(pair, o)
	}
	if err == nil && !ok {
		err = errGone
	}
	return errors.Join(err, g.leave())
}

// peerOnce does it by package api's Lock, on a session that is shared.
func (p *consulProcess) peerOnce(_ context.Context, key string, g *guard) error {
	l, err := p.client.LockOpts(&api.LockOptions{Key: key, Session: p.session, Value: []byte(floorOwner)})
	if err != nil {
		return err
	}
	if lost, err := l.Lock(nil); err != nil || lost == nil {
		return errors.Join(err, errors.New("api.Lock: no lock"))
	}
	return errors.Join(g.enter(0), g.leave(), l.Unlock())
}

// consulAlone compares acquire and release without contention.
func consulAlone(ctx context.Context, p plan, addr string) ([]line, error) {
	proc, err := newConsulProcess(addr)
	if err != nil {
		return nil, err
	}
	defer proc.close()
	run := func(r *record, name string, op func(context.Context, string, *guard) error) side {
		var mean record
		var g guard
		return repeat(&mean, r, func(ctx context.Context) error { return op(ctx, "bench-consul-"+name, &g) })
	}
	var ours, floor, peer, peerFloor record
	err = interleave(ctx, p, run(&ours, "alone", proc.once), run(&floor, "floor", proc.floorOnce), &ours, &floor)
	if err == nil {
		err = interleave(ctx, p, run(&peer, "peer", proc.peerOnce), run(&peerFloor, "floor", proc.floorOnce), &peer, &peerFloor)
	}
	return []line{
		compared("acquire + release, p50", &ours, &floor).atMost(1.05),
		{Figure: "acquire + release, p99", Unit: nanoseconds, Ours: ours.p99(), Floor: floor.p99()},
		compared("not distlock but api.Lock: acquire + release, p50", &peer, &peerFloor),
	}, err
}

// consulBusy compares them under many goroutines on many keys.
func consulBusy(ctx context.Context, p plan, addr string) ([]line, error) {
	proc, err := newConsulProcess(addr)
	if err != nil {
		return nil, err
	}
	defer proc.close()
	var ours, floor record
	err = interleave(ctx, p,
		together(&ours, p.keys, "bench-consul-busy-%d", proc.once),
		together(&floor, p.keys, "bench-consul-busy-floor-%d", proc.floorOnce),
		&ours, &floor)
	figure := fmt.Sprintf("acquire + release, %d goroutines, %d keys", busyWorkers, p.keys)
	return []line{compared(figure, &ours, &floor).atMost(1.05)}, errors.Join(err, proc.sweep(ctx))
}

// sweep deletes what the floor has left.
func (p *consulProcess) sweep(ctx context.Context) error {
	_, err := p.client.KV().DeleteTree("bench-consul-", new(api.WriteOptions).WithContext(ctx))
	return err
}

// consulHeld looks at what leases cost while nothing happens to them.
func consulHeld(ctx context.Context, p plan, addr string) ([]line, error) {
	const leases = 1000
	proc, err := newConsulProcess(addr, distlock.WithTTL(10*time.Second))
	if err != nil {
		return nil, err
	}
	defer proc.close()
	err = eachOf(2*busyWorkers, func(i int) error {
		return proc.once(ctx, fmt.Sprintf("bench-warm-%d", i), new(guard))
	})
	if err != nil {
		return nil, err
	}
	keys, held := heldKeys("bench-held-%d", leases), make([]*distlock.Lease, leases)
	heap, goroutines := usage()
	err = eachOf(leases, func(i int) (err error) {
		held[i], err = proc.lock.Acquire(ctx, keys[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	heap2, goroutines2 := usage()
	before := proc.sent.Load()
	if err := sleep(ctx, 10*time.Second); err != nil {
		return nil, err
	}
	sent := proc.sent.Load() - before
	for _, l := range held {
		if !l.Valid() {
			return nil, l.Err()
		}
	}
	return []line{
		line{Figure: "heap of a held lease", Unit: "B", Ours: float64(heap2-heap) / leases}.atMost(1024),
		line{Figure: "goroutines of a held lease", Ours: float64(goroutines2-goroutines) / leases}.atMost(0.01),
		line{Figure: "requests for 1000 leases in one TTL of 10 s", Ours: float64(sent)}.atMost(4),
	}, nil
}
