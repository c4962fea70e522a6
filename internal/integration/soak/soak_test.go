package soak_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

var soak = flag.Duration("soak", 15*time.Second, "how long the nemesis goes on")

func TestMain(m *testing.M) {
	if os.Getenv(targetEnv) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if _, err := servers.RemoveOwn(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestSoak(t *testing.T) {
	for _, tg := range targets {
		t.Run(tg.name, func(t *testing.T) {
			t.Parallel()
			s := tg.start(t)
			r := newResource(s.keeps)
			addr := r.serve(t)
			n := &nemesis{
				t: t, target: tg, service: s, done: make(map[string]int),
				spawn: func() *process { return spawn(t, tg, s, addr) },
			}
			for range workerCount {
				n.workers = append(n.workers, n.spawn())
			}
			ctx, cancel := context.WithTimeout(t.Context(), *soak)
			defer cancel()
			n.rage(ctx)
			peace := time.Now()
			for _, p := range n.workers {
				p.end()
			}
			t.Logf("%v; the workers ended within %v", n.done, time.Since(peace))
			r.report(t)
			checkQuiet(t, tg, s)
		})
	}
}

// checkQuiet locks each key, as the last worker's lifetimes there are over soon, and
// then looks for what is left.
func checkQuiet(t *testing.T, tg target, s service) {
	b, closeClient := tg.connect(s.addrs)
	locks, err := distlock.New(b, distlock.WithTTL(tg.ttl))
	if err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		ctx, cancel := context.WithTimeout(t.Context(), 3*tg.ttl+10*time.Second)
		l, err := locks.Acquire(ctx, keyName(i))
		cancel()
		if err != nil {
			t.Errorf("%s cannot be locked at the end: %v", keyName(i), err)
		} else if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := locks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := closeClient(); err != nil {
		t.Error(err)
	}
	var left []string
	for end := time.Now().Add(3*tg.ttl + 10*time.Second); time.Now().Before(end); pause(t.Context(), 50*time.Millisecond) {
		if left, err = s.left(t.Context()); err == nil && len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %v, %v", left, err)
}
