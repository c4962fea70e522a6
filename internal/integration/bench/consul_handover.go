package main

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/consul/api"
)

// consulHandOver has two processes take turns at a key and, the same with package api's
// Lock, counts what they send.
func consulHandOver(ctx context.Context, p plan, addr string) ([]line, error) {
	a, err := newConsulProcess(addr)
	if err != nil {
		return nil, err
	}
	defer a.close()
	b, err := newConsulProcess(addr)
	if err != nil {
		return nil, err
	}
	defer b.close()
	ours, err := takeTurns(ctx, a, b, p.turns*manyProcesses, (*consulProcess).take)
	if err != nil {
		return nil, err
	}
	peer, err := takeTurns(ctx, a, b, p.turns, (*consulProcess).takeByPeer)
	if err != nil {
		return nil, err
	}
	var floor record
	err = a.floorTurns(ctx, b, p.turns*manyProcesses, &floor)
	return []line{
		{Figure: "hand-over between 2 processes, p50", Unit: nanoseconds, Value: quantile(ours.took, 0.5), Floor: quantile(floor.all, 0.5)},
		line{Figure: "hand-over between 2 processes, p99", Unit: nanoseconds, Value: quantile(ours.took, 0.99)}.atMost(float64(100 * time.Millisecond)),
		line{Figure: "requests sent, 2 processes", Value: ours.sent}.atMost(4),
		{Figure: "package api's Lock: hand-over, p50", Unit: nanoseconds, Value: quantile(peer.took, 0.5)},
		{Figure: "package api's Lock: hand-over, p99", Unit: nanoseconds, Value: quantile(peer.took, 0.99)},
		{Figure: "package api's Lock: requests sent", Value: peer.sent},
	}, err
}

// turnFigures are of hand-overs from one process to the other.
type turnFigures struct {
	took []float64 // nanoseconds
	sent float64   // requests for each grant
}

// turns are what the processes of takeTurns share. Who has the key alone touches it.
type turns struct {
	guard    guard
	last     *consulProcess
	released time.Time
	took     []float64
}

// takeTurns has a and b each take the key n times, by take.
func takeTurns(ctx context.Context, a, b *consulProcess, n int,
	take func(*consulProcess, context.Context, *turns) error,
) (turnFigures, error) {
	var t turns
	before := a.sent.Load() + b.sent.Load()
	run := func(p *consulProcess) func() error {
		return func() error {
			for range n {
				if err := take(p, ctx, &t); err != nil {
					return err
				}
				if err := sleep(ctx, hold); err != nil {
					return err
				}
			}
			return nil
		}
	}
	err := all([]func() error{run(a), run(b)})
	sent := a.sent.Load() + b.sent.Load() - before
	return turnFigures{took: t.took, sent: float64(sent) / float64(2*n)}, err
}

// have is called between a grant and the release.
func (t *turns) have(p *consulProcess) error {
	now := time.Now()
	if t.last != nil && t.last != p {
		t.took = append(t.took, float64(now.Sub(t.released)))
	}
	err := t.guard.enter(0)
	time.Sleep(hold)
	t.last, t.released = p, time.Now()
	return errors.Join(err, t.guard.leave())
}

func (p *consulProcess) take(ctx context.Context, t *turns) error {
	l, err := p.lock.Acquire(ctx, "bench-turns")
	if err != nil {
		return err
	}
	return errors.Join(t.have(p), l.Release(ctx))
}

func (p *consulProcess) takeByPeer(_ context.Context, t *turns) error {
	l, err := p.client.LockOpts(&api.LockOptions{Key: "bench-turns-peer", Session: p.session})
	if err != nil {
		return err
	}
	if lost, err := l.Lock(nil); err != nil || lost == nil {
		return errors.Join(err, errors.New("api.Lock: no lock"))
	}
	return errors.Join(t.have(p), l.Unlock())
}

// floorTurns releases by one process and acquires by the other, in sequence.
func (a *consulProcess) floorTurns(ctx context.Context, b *consulProcess, n int, r *record) error {
	o := new(api.WriteOptions).WithContext(ctx)
	pairs := [2]*api.KVPair{}
	for i, p := range []*consulProcess{a, b} {
		pairs[i] = &api.KVPair{Key: "bench-turns-floor", Session: p.session}
	}
	clients := [2]*api.Client{a.client, b.client}
	if _, _, err := clients[0].KV().Acquire(pairs[0], o); err != nil {
		return err
	}
	var took []float64
	for i := range 2 * n {
		from, to := i%2, (i+1)%2
		time.Sleep(hold)
		start := time.Now()
		ok, _, err := clients[from].KV().Release(pairs[from], o)
		if err == nil && ok {
			ok, _, err = clients[to].KV().Acquire(pairs[to], o)
		}
		if err != nil || !ok {
			return errors.Join(err, errGone)
		}
		took = append(took, float64(time.Since(start)))
	}
	r.times(took)
	return nil
}
