package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcdEnv names the member, as for the tests.
const etcdEnv = "DISTLOCK_TEST_ETCD"

// etcdTTL is longer than a run.
const etcdTTL = 10 * time.Minute

func dialEtcd(addr string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{addr}})
}

// describeEtcd says which server is at addr.
func describeEtcd(ctx context.Context, addr string) (string, error) {
	cli, err := dialEtcd(addr)
	if err != nil {
		return "", err
	}
	defer cli.Close()
	status, err := cli.Status(ctx, addr)
	if err != nil {
		return "", err
	}
	return "etcd " + status.Version, nil
}

// An etcdProcess stands for one process on etcd: the lock and the floor, each with
// a lease of its own, on one client.
type etcdProcess struct {
	cli   *clientv3.Client
	lock  *distlock.Client
	floor clientv3.LeaseID
}

func newEtcdProcess(ctx context.Context, addr string) (p *etcdProcess, err error) {
	p = &etcdProcess{}
	if p.cli, err = dialEtcd(addr); err != nil {
		return nil, err
	}
	lease, err := p.cli.Grant(ctx, int64(etcdTTL/time.Second))
	if err == nil {
		p.floor = lease.ID
		p.lock, err = distlock.New(etcdlock.New(p.cli, nil), distlock.WithTTL(etcdTTL))
	}
	if err == nil {
		err = p.once(ctx, "bench-warm", new(guard)) // opens the session
	}
	if err != nil {
		p.cli.Close()
		return nil, err
	}
	return p, nil
}

func (p *etcdProcess) close() {
	ctx := context.Background()
	_ = p.lock.Close(ctx)
	_, _ = p.cli.Revoke(ctx, p.floor)
	p.cli.Close()
}

// once acquires key, enters and leaves g, and releases.
func (p *etcdProcess) once(ctx context.Context, key string, g *guard) error {
	l, err := p.lock.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(l.Token()), g.leave(), l.Release(ctx))
}

// floorAcquire puts key under the lease if it is not there, until it has, and returns
// the revision at which it did.
func (p *etcdProcess) floorAcquire(ctx context.Context, key string) (int64, error) {
	for {
		absent := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
		r, err := p.cli.Txn(ctx).If(absent).Then(clientv3.OpPut(key, floorOwner, clientv3.WithLease(p.floor))).Commit()
		if err != nil || r.Succeeded {
			return r.Header.GetRevision(), err
		}
	}
}

func (p *etcdProcess) floorRelease(ctx context.Context, key string, revision int64) error {
	ours := clientv3.Compare(clientv3.CreateRevision(key), "=", revision)
	r, err := p.cli.Txn(ctx).If(ours).Then(clientv3.OpDelete(key)).Commit()
	if err == nil && !r.Succeeded {
		err = errGone
	}
	return err
}

func (p *etcdProcess) floorOnce(ctx context.Context, key string, g *guard) error {
	revision, err := p.floorAcquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(0), g.leave(), p.floorRelease(ctx, key, revision))
}

// onEtcd measures alone, busy and hand-over there. A hand-over has one waiter in a
// process of its own; its floor is a release by one process and an acquire by the other,
// one after the other.
func onEtcd(ctx context.Context, p plan) ([]line, error) {
	a, err := newEtcdProcess(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer a.close()
	b, err := newEtcdProcess(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer b.close()
	var lines []line
	for _, measure := range []func(context.Context, plan, *etcdProcess, *etcdProcess) ([]line, error){
		etcdAlone, etcdBusy, etcdHandOver,
	} {
		got, err := measure(ctx, p, a, b)
		if err != nil {
			return nil, err
		}
		lines = append(lines, got...)
	}
	return lines, nil
}

func etcdAlone(ctx context.Context, p plan, proc, _ *etcdProcess) ([]line, error) {
	var ours, hand, floor, mean, handMean, floorMean record
	var a, b, c guard
	err := inTurn(ctx, p, []side{
		repeat(&mean, &ours, func(ctx context.Context) error { return proc.once(ctx, "bench-alone", &a) }),
		repeat(&handMean, &hand, func(ctx context.Context) error { return proc.handOnce(ctx, "bench-alone-hand", &b) }),
		repeat(&floorMean, &floor, func(ctx context.Context) error { return proc.floorOnce(ctx, "bench-alone-floor", &c) }),
	}, &ours, &hand, &floor, &mean, &handMean, &floorMean)
	return []line{
		compared("acquire + release, p50", &ours, &floor).atMost(1.03),
		compared("the two transactions by hand, p50", &hand, &floor),
		{Figure: "acquire + release, p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
	}, err
}

func etcdBusy(ctx context.Context, p plan, proc, _ *etcdProcess) ([]line, error) {
	var ours, hand, floor record
	err := inTurn(ctx, p, []side{
		together(&ours, p.keys, "bench-busy-%d", proc.once),
		together(&hand, p.keys, "bench-busy-hand-%d", proc.handOnce),
		together(&floor, p.keys, "bench-busy-floor-%d", proc.floorOnce),
	}, &ours, &hand, &floor)
	by := fmt.Sprintf(", %d goroutines, %d keys", busyWorkers, p.keys)
	return []line{
		compared("acquire + release"+by, &ours, &floor).atMost(1.05),
		compared("the two transactions by hand"+by, &hand, &floor),
	}, err
}
