package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

// consulEnv and consulTrioEnv name a server without a disk and a cluster with disks, as
// for the tests.
const (
	consulEnv     = "DISTLOCK_TEST_CONSUL"
	consulTrioEnv = "DISTLOCK_TEST_CONSUL_TRIO"
)

// consul compares distlock on Consul with a floor by hand.
func consul(ctx context.Context, p plan) ([]line, error) {
	single := os.Getenv(consulEnv)
	trio, _, _ := strings.Cut(os.Getenv(consulTrioEnv), ",")
	var lines []line
	for _, part := range []struct {
		run  func(context.Context, plan, string) ([]line, error)
		addr string
		on   string
	}{
		{consulAlone, single, ""},
		{consulAlone, trio, ", three members"},
		{consulBusy, single, ""},
		{consulHandOver, single, ""},
		{consulHeld, single, ""},
	} {
		if part.addr == "" {
			continue
		}
		got, err := part.run(ctx, p, part.addr)
		if err != nil {
			return nil, err
		}
		for i := range got {
			got[i].Figure += part.on
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
	return "Consul " + self.Config.Version, err
}

// A consulProcess stands for one: a lock client and a session for the floor, on
// connections of their own.
type consulProcess struct {
	client  *api.Client
	lock    *distlock.Client
	session string
	sent    atomic.Int64 // requests
}

// consulConfig keeps as many connections as there are workers.
func consulConfig(addr string) *api.Config {
	config := api.DefaultConfig()
	config.Address = addr
	config.Transport.MaxIdleConnsPerHost = 2 * poolSize
	return config
}

// dialConsul returns a client and what closes its connections: an agent has room for 200
// of one address, and those of clients that are not used any more count, too.
func dialConsul(addr string) (c *api.Client, free func(), err error) {
	config := consulConfig(addr)
	c, err = api.NewClient(config)
	return c, config.Transport.CloseIdleConnections, err
}

// newConsulProcess connects to addr. Close it.
func newConsulProcess(addr string, opts ...distlock.Option) (*consulProcess, error) {
	p := &consulProcess{}
	config := consulConfig(addr)
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

// tokenOnce is floorOnce by the transactions that one would write to have a token.
func (p *consulProcess) tokenOnce(ctx context.Context, key string, g *guard) error {
	o := new(api.QueryOptions).WithContext(ctx)
	ok, resp, _, err := p.client.KV().Txn(api.KVTxnOps{
		{Verb: api.KVLock, Key: key, Value: []byte(floorOwner), Session: p.session},
	}, o)
	if err != nil || !ok {
		return errors.Join(err, errGone)
	}
	err = errors.Join(g.enter(distlock.Token(resp.Results[0].ModifyIndex)), g.leave())
	ok, _, _, rerr := p.client.KV().Txn(api.KVTxnOps{{Verb: api.KVUnlock, Key: key, Session: p.session}}, o)
	if rerr == nil && !ok {
		rerr = errGone
	}
	return errors.Join(err, rerr)
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
	var ours, floor, token, tokenFloor record
	err = interleave(ctx, p, run(&ours, "alone", proc.once), run(&floor, "floor", proc.floorOnce), &ours, &floor)
	if err == nil {
		err = interleave(ctx, p, run(&token, "token", proc.tokenOnce), run(&tokenFloor, "floor", proc.floorOnce), &token, &tokenFloor)
	}
	return []line{
		compared("acquire + release, p50", &ours, &floor).atMost(1.05),
		{Figure: "acquire + release, p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
		compared("by hand with a token: acquire + release, p50", &token, &tokenFloor),
	}, errors.Join(err, proc.sweep(ctx))
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
