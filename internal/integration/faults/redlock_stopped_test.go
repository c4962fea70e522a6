package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// nodesEnv, set to addresses, makes the test binary a process that acquires keyEnv and
// can be stopped when a majority has answered and nobody has seen it yet.
const nodesEnv = "DISTLOCK_FAULTS_NODES"

// heldTTL is that of its lease.
const heldTTL = time.Second

// stopHere is a hook of go-redis that keeps the answers to the grants back, from the
// one that makes the majority, until the process has been stopped for longer than TTL.
type stopHere struct {
	answers atomic.Int32
	stopped chan struct{}
}

func (s *stopHere) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (s *stopHere) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "set" && s.answers.Add(1) >= 3 {
			<-s.stopped
		}
		return err
	}
}

func (s *stopHere) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// acquireForParent is the process. It prints a report once the majority has answered, and
// another when it goes on after the stop.
func acquireForParent() int {
	hook := &stopHere{stopped: make(chan struct{})}
	var nodes []goredis.UniversalClient
	for _, addr := range strings.Split(os.Getenv(nodesEnv), ",") {
		rdb := goredis.NewClient(&goredis.Options{Addr: addr})
		rdb.AddHook(hook)
		nodes = append(nodes, rdb)
	}
	locks, err := distlock.New(redlock.New(nodes, &redlock.Options{NodeTimeout: redlock.MaxNodeTimeout}), distlock.WithTTL(heldTTL))
	if err != nil {
		return complain(err)
	}
	go func() { // ends when it has seen the stop
		for hook.answers.Load() < 3 {
			pause(time.Millisecond)
		}
		fmt.Println("{}")
		for last := time.Now(); time.Since(last) < heldTTL; {
			last = time.Now()
			pause(time.Millisecond)
		}
		close(hook.stopped)
	}()
	l, err := locks.TryAcquire(context.Background(), os.Getenv(keyEnv))
	var seen report
	if err == nil {
		seen.Valid = l.Valid()
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		return complain(err)
	}
	return 0
}

// Stands for: a client that was stopped between the answers of the majority and the
// look at the clock takes its lock for valid, while the next holder has the key.
func TestRedlockStoppedBeforeValidityIsMeasured(t *testing.T) {
	t.Parallel()
	m := masters(t, servers.Redis)
	p := startProcess(t, nodesEnv+"="+strings.Join(m.Addrs(), ","), keyEnv+"=k")
	p.read(t)
	if n := having(t, dialAll(t, m), "k"); n < 3 {
		t.Fatalf("%d nodes have the key, want a majority", n)
	}
	p.signal(t, syscall.SIGSTOP)
	next := acquire(t, locksOver(t, m, redlock.Options{}, distlock.WithTTL(bound)), "k")
	pause(2 * heldTTL)
	p.signal(t, syscall.SIGCONT)
	seen := p.read(t)
	p.end(t)
	t.Logf("%+v", seen)
	if seen.Valid || !next.Valid() {
		t.Errorf("got %+v while the next holder has the key, want no valid lease", seen)
	}
	release(t, next)
}
