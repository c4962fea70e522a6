package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"
)

// crashEnv tells this program to be a process that takes locks and is killed.
const crashEnv = "DISTLOCK_BENCH_CRASH"

const (
	crashReady = "ready"
	crashBound = 3 * time.Minute // of all of it
)

// An order is what such a process is to take.
type order struct {
	Key   string
	TTL   time.Duration
	Addrs map[string]string // by service
}

// takes lists the rivals that it takes, in this order. Memory is not shared by processes.
func (o order) takes() (all []rival) {
	for _, r := range rivals {
		if o.Addrs[r.service] != "" {
			all = append(all, r)
		}
	}
	return all
}

// dial opens a contender with the order's TTL, or the least that its service allows.
func (o order) dial(ctx context.Context, r rival, t *tally) (*contender, error) {
	return r.dial(ctx, o.Addrs[r.service], max(o.TTL, leastTTL[r.service]), t)
}

// leastTTL is by service, where it matters here.
var leastTTL = map[string]time.Duration{"zookeeper": 4 * time.Second, "etcd": 2 * time.Second}

// crashIfTold takes what the environment orders and waits to be killed. Without an
// order it returns at once.
func crashIfTold() {
	text := os.Getenv(crashEnv)
	if text == "" {
		return
	}
	if err := crash(text); err != nil {
		fmt.Println(err)
	}
	os.Exit(1)
}

func crash(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), crashBound)
	defer cancel()
	for _, r := range o.takes() {
		c, err := o.dial(ctx, r, new(tally))
		if err != nil {
			return err
		}
		if _, _, err := c.lock(ctx, o.Key); err != nil {
			return fmt.Errorf("%v: %w", r, err)
		}
	}
	fmt.Println(crashReady)
	_, err := io.Copy(io.Discard, os.Stdin) // until the parent has ended, too
	return err
}

// takeOver measures how long it takes until a waiter has the key of a process that is
// killed: the time from the kill to the grant. All rivals are waited for at once, as
// nothing is done meanwhile.
func takeOver(ctx context.Context, p plan) ([]line, error) {
	ctx, cancel := context.WithTimeout(ctx, crashBound)
	defer cancel()
	o := order{TTL: p.crashTTL, Addrs: make(map[string]string)}
	for _, s := range services {
		if s.env == "" || !s.there() {
			continue
		}
		addr, stop, err := s.address(ctx)
		if err != nil {
			return nil, err
		}
		defer stop()
		o.Addrs[s.name] = addr
	}
	all := o.takes()
	took, tallies := make([]record, len(all)), make([]tally, len(all))
	for n := range p.crashes {
		o.Key = fmt.Sprintf("bench-rivals-crash-%d-%d", os.Getpid(), n)
		if err := o.crash(ctx, all, took, tallies); err != nil {
			return nil, err
		}
	}
	var lines []line
	for i, r := range all {
		ttl := max(o.TTL, leastTTL[r.service])
		l := of(fmt.Sprintf("from kill -9 of the holder to the next grant, TTL %v", ttl), &took[i])
		l.Service, l.Lock = r.service, r.name
		lines = append(lines, tallies[i].noted(l))
	}
	return lines, nil
}

// crash has one process killed.
func (o order) crash(ctx context.Context, all []rival, took []record, tallies []tally) error {
	holder, err := o.start(ctx)
	if err != nil {
		return err
	}
	defer holder.Wait() // once it has been killed
	defer holder.Process.Kill()
	type grant struct {
		i   int
		at  time.Time
		err error
	}
	grants := make(chan grant, len(all))
	for i, r := range all {
		c, err := o.dial(ctx, r, &tallies[i])
		if err != nil {
			return err
		}
		defer c.close()
		go func() { // ends with ctx, and before that with the grant
			_, release, err := c.lock(ctx, o.Key)
			g := grant{i, time.Now(), err}
			if err == nil {
				g.err = release(ctx)
			}
			grants <- g
		}()
	}
	if err := sleep(ctx, settled+rand.N(o.TTL/3)); err != nil {
		return err
	}
	killed := time.Now()
	if err := holder.Process.Kill(); err != nil {
		return err
	}
	for range all {
		g := <-grants
		t := g.at.Sub(killed)
		if t < 0 && g.err == nil {
			g.err = errors.New("granted before the holder was killed, which the machine had stopped for long")
		}
		switch {
		case g.err == nil:
			took[g.i].slices = append(took[g.i].slices, float64(t))
		default:
			tallies[g.i].add(g.err)
		}
	}
	return nil
}

// start runs this program as the holder and returns when it has all keys.
func (o order) start(ctx context.Context) (*exec.Cmd, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), crashEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // open until this process ends
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if said = strings.TrimSpace(said); said != crashReady {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, errors.Join(fmt.Errorf("the process to be killed: %s", said), err)
	}
	return cmd, nil
}
