package soak_test

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// A nemesis does one thing after the other to the workers and their servers.
type nemesis struct {
	*crew
	done map[string]int // what it has done how often
}

// A blow is one thing that a nemesis does, for d if it lasts.
type blow struct {
	name   string
	weight int
	needs  func(service) bool // nil: nothing
	// strike hits the worker or server that has the number i, counted round and round.
	strike func(n *nemesis, ctx context.Context, i int, d time.Duration)
}

var blows = []blow{
	{"stop a worker", 4, nil, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		n.workers[i%workerCount].signal(syscall.SIGSTOP)
		pause(ctx, d)
		n.workers[i%workerCount].signal(syscall.SIGCONT)
	}},
	{"kill a worker", 1, nil, func(n *nemesis, _ context.Context, i int, _ time.Duration) {
		n.workers[i%workerCount].kill()
		n.workers[i%workerCount] = n.spawn()
	}},
	{"restart a server", 2, nil, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		node := n.service.nodes[i%len(n.service.nodes)]
		servers.Do(n.t, node.Kill)
		pause(ctx, d)
		servers.Do(n.t, node.Start)
	}},
	{"freeze a server", 1, nil, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		node := n.service.nodes[i%len(n.service.nodes)]
		servers.Do(n.t, node.Pause)
		pause(ctx, d)
		servers.Do(n.t, node.Resume)
	}},
	{
		"cut a member off", 2, func(s service) bool { return len(s.members) > 0 },
		func(n *nemesis, ctx context.Context, i int, d time.Duration) {
			m := n.service.members[i%len(n.service.members)]
			servers.Do(n.t, m.CutOff)
			pause(ctx, d)
			servers.Do(n.t, m.Heal)
		},
	},
	{"swallow", 2, nil, modes(proxy.Swallow, proxy.Swallow)},
	{"swallow replies", 2, nil, modes(proxy.Pass, proxy.Swallow)},
	{"hold requests", 1, nil, modes(proxy.Hold, proxy.Pass)},
	{"hold replies", 1, nil, modes(proxy.Pass, proxy.Hold)},
	{"cut", 1, nil, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		for _, l := range n.workers[i%workerCount].links {
			l.Cut()
		}
		pause(ctx, d/4)
		n.workers[i%workerCount].set(proxy.Pass, proxy.Pass)
	}},
}

// modes is a blow to a worker's network.
func modes(requests, replies proxy.Mode) func(*nemesis, context.Context, int, time.Duration) {
	return func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		n.workers[i%workerCount].set(requests, replies)
		pause(ctx, d)
		n.workers[i%workerCount].set(proxy.Pass, proxy.Pass)
	}
}

// rage strikes until ctx ends: from a moment to two lifetimes, then as short a peace.
func (n *nemesis) rage(ctx context.Context) {
	var deck []blow
	for ctx.Err() == nil {
		if len(deck) == 0 { // each blow as often as its weight says, in any order
			for _, b := range blows {
				if b.needs != nil && !b.needs(n.service) {
					continue
				}
				for range b.weight {
					deck = append(deck, b)
				}
			}
			rand.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		b := deck[0]
		deck = deck[1:]
		b.strike(n, ctx, rand.IntN(1<<10), rand.N(2*n.target.ttl))
		n.done[b.name]++
		pause(ctx, rand.N(n.target.ttl/4))
	}
}
