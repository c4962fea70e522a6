package soak_test

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// A process is a worker as its parent sees it.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	links []*proxy.Proxy // to each server
}

// spawn starts a worker behind proxies of its own.
func spawn(t *testing.T, tg target, s service, resource string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0])}
	var addrs []string
	for _, addr := range s.addrs {
		link := proxy.Start(t, addr)
		p.links, addrs = append(p.links, link), append(addrs, link.Addr())
	}
	p.cmd.Env = append(os.Environ(), targetEnv+"="+tg.name, resourceEnv+"="+resource,
		addrsEnv+"="+strings.Join(addrs, ","))
	p.cmd.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// kill ends the worker as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// end lets the worker close its client and leave.
func (p *process) end() {
	p.set(proxy.Pass, proxy.Pass)
	p.signal(syscall.SIGCONT)
	p.stdin.Close()
	late := time.AfterFunc(2*time.Minute, func() { p.signal(syscall.SIGQUIT) }) // it prints its goroutines
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("a worker ended with %v", err)
	}
}

func (p *process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("%v: %v", s, err)
	}
}

func (p *process) set(requests, replies proxy.Mode) {
	for _, l := range p.links {
		l.Set(requests, replies)
	}
}

// A nemesis does one thing after the other to the workers and their servers.
type nemesis struct {
	t       *testing.T
	target  target
	service service
	spawn   func() *process
	workers []*process
	done    map[string]int // what it has done how often
}

// workerCount is how many worker processes there are at a time.
const workerCount = 3

// A blow is one thing that a nemesis does, for d if it lasts.
type blow struct {
	name   string
	weight int
	// strike hits the worker or server that has the number i, counted round and round.
	strike func(n *nemesis, ctx context.Context, i int, d time.Duration)
}

var blows = []blow{
	{"stop a worker", 4, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		n.workers[i%workerCount].signal(syscall.SIGSTOP)
		pause(ctx, d)
		n.workers[i%workerCount].signal(syscall.SIGCONT)
	}},
	{"kill a worker", 1, func(n *nemesis, _ context.Context, i int, _ time.Duration) {
		n.workers[i%workerCount].kill()
		n.workers[i%workerCount] = n.spawn()
	}},
	{"restart a server", 2, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		node := n.service.nodes[i%len(n.service.nodes)]
		servers.Do(n.t, node.Kill)
		pause(ctx, d)
		servers.Do(n.t, node.Start)
	}},
	{"freeze a server", 1, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
		node := n.service.nodes[i%len(n.service.nodes)]
		servers.Do(n.t, node.Pause)
		pause(ctx, d)
		servers.Do(n.t, node.Resume)
	}},
	{"swallow", 2, modes(proxy.Swallow, proxy.Swallow)},
	{"swallow replies", 2, modes(proxy.Pass, proxy.Swallow)},
	{"hold requests", 1, modes(proxy.Hold, proxy.Pass)},
	{"hold replies", 1, modes(proxy.Pass, proxy.Hold)},
	{"cut", 1, func(n *nemesis, ctx context.Context, i int, d time.Duration) {
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
