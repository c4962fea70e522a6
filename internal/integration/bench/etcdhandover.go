package main

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func etcdHandOver(ctx context.Context, p plan, a, b *etcdProcess) ([]line, error) {
	var ours, floor record
	side := etcdHandOvers(&ours, a.ours(handOverKey), b.ours(handOverKey), a.queued(etcdlock.DefaultPrefix+handOverKey+"/"))
	err := interleave(ctx, p, side, etcdSequences(&floor, a, b), &ours, &floor)
	return []line{
		compared("hand-over, p50", &ours, &floor).atMost(0.9),
		{Figure: "hand-over, p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
		line{Figure: "hand-over, p99 by p50", Value: ours.p99() / quantile(ours.all, 0.5), Floor: floor.p99() / quantile(floor.all, 0.5)}.atMost(3),
	}, err
}

// A taker takes a lock and returns its token, 0 for none, and how to give it up.
type taker func(context.Context) (distlock.Token, func(context.Context) error, error)

func (p *etcdProcess) ours(key string) taker {
	return func(ctx context.Context) (distlock.Token, func(context.Context) error, error) {
		l, err := p.lock.Acquire(ctx, key)
		if err != nil {
			return 0, nil, err
		}
		return l.Token(), l.Release, nil
	}
}

// etcdHandOvers lets a hold and b wait, as queued tells. It measures from the call of a's
// release to the return of b's acquire.
func etcdHandOvers(r *record, a, b taker, queued func(context.Context) error) side {
	type grant struct {
		token   distlock.Token
		release func(context.Context) error
		err     error
		at      time.Time
	}
	var g guard
	return etcdTimes(r, func(ctx context.Context) (time.Duration, error) {
		token, release, err := a(ctx)
		if err = errors.Join(err, g.enter(token)); err != nil {
			return 0, err
		}
		granted := make(chan grant, 1)
		go func() { // ends with the grant, which is awaited
			token, release, err := b(ctx)
			granted <- grant{token, release, err, time.Now()}
		}()
		err = queued(ctx)
		time.Sleep(hold)
		err = errors.Join(err, g.leave())
		start := time.Now()
		err = errors.Join(err, release(ctx))
		next := <-granted
		if err = errors.Join(err, next.err); err != nil {
			return 0, err
		}
		return next.at.Sub(start), errors.Join(g.enter(next.token), g.leave(), next.release(ctx))
	})
}

// etcdSequences lets a release and b acquire, one after the other.
func etcdSequences(r *record, a, b *etcdProcess) side {
	var g guard
	return etcdTimes(r, func(ctx context.Context) (time.Duration, error) {
		revision, err := a.floorAcquire(ctx, handOverFloor)
		if err = errors.Join(err, g.enter(0)); err != nil {
			return 0, err
		}
		time.Sleep(hold)
		err = g.leave()
		start := time.Now()
		err = errors.Join(err, a.floorRelease(ctx, handOverFloor, revision))
		revision, aerr := b.floorAcquire(ctx, handOverFloor)
		took := time.Since(start)
		return took, errors.Join(err, aerr, g.enter(0), g.leave(), b.floorRelease(ctx, handOverFloor, revision))
	})
}

// etcdTimes returns a side that notes what once measures.
func etcdTimes(r *record, once func(context.Context) (time.Duration, error)) side {
	return func(ctx context.Context, d time.Duration) error {
		var all []float64
		for start := time.Now(); time.Since(start) < d; {
			took, err := once(ctx)
			if err != nil {
				return err
			}
			all = append(all, float64(took))
		}
		r.times(all)
		return nil
	}
}

// queued returns a function that waits until a holder and a waiter are under prefix.
func (p *etcdProcess) queued(prefix string) func(context.Context) error {
	return func(ctx context.Context) error {
		for start := time.Now(); ; {
			r, err := p.cli.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
			switch {
			case err != nil || r.Count == 2:
				return err
			case time.Since(start) > settleBound:
				return errors.New("the waiter does not wait")
			}
			if err := sleep(ctx, hold/10); err != nil {
				return err
			}
		}
	}
}
