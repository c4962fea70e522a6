package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// redlockNodes is how many independent servers redlock is measured on.
const redlockNodes = 5

// A quorumFloor is what is written by hand on five clients: one goroutine for each
// node, SET NX PX and DELEX, and a majority of the answers.
type quorumFloor struct{ nodes []goredis.UniversalClient }

func newQuorumFloor(addrs []string) *quorumFloor {
	return &quorumFloor{dialNodes(addrs)}
}

// dialNodes connects to each address.
func dialNodes(addrs []string) (all []goredis.UniversalClient) {
	for _, a := range addrs {
		all = append(all, goredis.NewClient(&goredis.Options{Addr: a, PoolSize: poolSize}))
	}
	return all
}

func closeNodes(all []goredis.UniversalClient) {
	for _, c := range all {
		c.Close()
	}
}

// each runs f for all nodes side by side and waits for all of them.
func (q *quorumFloor) each(f func(*goredis.Client) error) error {
	errs := make([]error, len(q.nodes))
	var calls sync.WaitGroup
	for i, c := range q.nodes {
		calls.Go(func() { errs[i] = f(c.(*goredis.Client)) })
	}
	calls.Wait()
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	if failed > len(errs)/2 {
		return errors.Join(errs...)
	}
	return nil
}

func (q *quorumFloor) once(ctx context.Context, key string, g *guard) error {
	owner, err := q.acquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(0), g.leave(), q.release(ctx, key, owner))
}

// acquire tries until it has key on a majority, and returns the owner it is held by.
// Each attempt has its own: a release also asks nodes that the holder did not get, where
// it must not delete what a later attempt has.
func (q *quorumFloor) acquire(ctx context.Context, key string) (owner string, err error) {
	for {
		owner = newFloorOwner()
		err = q.each(func(c *goredis.Client) error {
			ok, err := floorTry(ctx, c, key, owner, floorTTL)
			if err == nil && !ok {
				err = errTaken
			}
			return err
		})
		if !errors.Is(err, errTaken) {
			return owner, err
		}
		if err := q.release(ctx, key, owner); err != nil && !errors.Is(err, errGone) {
			return "", err
		}
	}
}

func (q *quorumFloor) release(ctx context.Context, key, owner string) error {
	return q.each(func(c *goredis.Client) error { return floorRelease(ctx, c, key, owner) })
}

var errTaken = errors.New("floor: taken")

// A redlockClient is a client of distlock on nodes of its own.
type redlockClient struct {
	nodes []goredis.UniversalClient
	lock  *distlock.Client
}

func newRedlockClient(addrs []string, o *redlock.Options, opts ...distlock.Option) (*redlockClient, error) {
	nodes := dialNodes(addrs)
	lock, err := distlock.New(redlock.New(nodes, o), opts...)
	if err != nil {
		closeNodes(nodes)
		return nil, err
	}
	return &redlockClient{nodes, lock}, nil
}

func (c *redlockClient) close() {
	_ = c.lock.Close(context.Background()) // nothing is held
	closeNodes(c.nodes)
}

func (c *redlockClient) once(ctx context.Context, key string, g *guard) error {
	l, err := c.lock.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(l.Token()), g.leave(), l.Release(ctx))
}

// benchTimeout is long, so that a busy machine is not taken for dead nodes.
const benchTimeout = time.Second

// modes are how redlock is measured, with the budget of alone.
var modes = []struct {
	name   string
	opts   redlock.Options
	budget float64
}{
	{"plain", redlock.Options{NodeTimeout: benchTimeout}, 1.05},
	{"fenced", redlock.Options{NodeTimeout: benchTimeout, Prefix: "fenced:", Fenced: true}, 1.75},
}

// overNodes measures redlock on servers of its own.
func overNodes(ctx context.Context, p plan) ([]line, error) {
	m, err := sharedNodes(ctx)
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, run := range []func(context.Context, plan, *servers.Masters) ([]line, error){
		nodesAlone, nodesBusy, nodesHandOver, nodesDead,
	} {
		got, err := run(ctx, p, m)
		if err != nil {
			return nil, err
		}
		lines = append(lines, got...)
	}
	return lines, nil
}

// nodes are the servers that all scenarios share, once they are started.
var nodes *servers.Masters

// sharedNodes starts them, the first time. stopNodes ends them.
func sharedNodes(ctx context.Context) (_ *servers.Masters, err error) {
	if nodes == nil {
		nodes, err = launchNodes(ctx)
	}
	return nodes, err
}

func stopNodes() {
	if nodes != nil {
		_ = nodes.Close(context.Background())
		nodes = nil
	}
}

// startNodes gives their addresses with commas between.
func startNodes(ctx context.Context) (string, func(), error) {
	m, err := sharedNodes(ctx)
	if err != nil {
		return "", nil, err
	}
	return strings.Join(m.Addrs(), ","), func() {}, nil
}

func launchNodes(ctx context.Context) (*servers.Masters, error) {
	return servers.MastersSpec{Of: servers.Redis, Count: redlockNodes}.Launch(ctx)
}
