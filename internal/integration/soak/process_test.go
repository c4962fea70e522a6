package soak_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/history"
	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// A crew is the workers of one run, and what they saw.
type crew struct {
	t       *testing.T
	target  target
	service service
	habits  habits
	addr    string // of the resource
	history history.History

	reading sync.WaitGroup // what collects histories
	workers []*process
	spawned int
}

// workerCount is how many worker processes there are at a time.
const workerCount = 3

// newCrew starts the workers.
func newCrew(t *testing.T, tg target, s service, r *Resource, h habits) *crew {
	c := &crew{t: t, target: tg, service: s, habits: h, addr: r.serve(t)}
	for range workerCount {
		c.workers = append(c.workers, c.spawn())
	}
	return c
}

// A process is a worker as its parent sees it.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	links []*proxy.Proxy // to each server
}

// spawn starts a worker behind proxies of its own.
func (c *crew) spawn() *process {
	c.t.Helper()
	c.spawned++
	p := &process{t: c.t, name: fmt.Sprint("w", c.spawned), cmd: exec.Command(os.Args[0])}
	j := job{
		Target: c.target.name, Process: p.name, Resource: c.addr, Habits: c.habits,
		Network: network{Index: c.spawned, Servers: c.service.addrs},
	}
	for _, addr := range c.service.addrs {
		link := proxy.Start(c.t, addr)
		p.links, j.Network.Addrs = append(p.links, link), append(j.Network.Addrs, link.Addr())
	}
	text, err := json.Marshal(j)
	if err != nil {
		c.t.Fatal(err)
	}
	seen, notes, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	p.cmd.Env = append(os.Environ(), jobEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	p.cmd.ExtraFiles = []*os.File{notes}
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	notes.Close()
	c.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	c.reading.Go(func() { // ends with the worker
		defer seen.Close()
		if err := c.history.Collect(seen); err != nil {
			c.t.Error(err)
		}
	})
	return p
}

// end lets the workers close their clients and leave, and returns all that they saw.
func (c *crew) end() []history.Op {
	for _, p := range c.workers {
		p.end()
	}
	c.reading.Wait()
	return c.history.Ops()
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
