package soak_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/history"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

var soak = flag.Duration("soak", 0, "how long the nemeses go on in all, over all targets and tests; 0 is a few seconds each")

func TestMain(m *testing.M) {
	if os.Getenv(jobEnv) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	// Each target's test has a goroutine, and takes its turn: see forEach.
	if err := flag.Set("test.parallel", strconv.Itoa(len(targets)*len(variants)+len(targets))); err != nil {
		panic(err)
	}
	code := m.Run()
	if _, err := servers.RemoveOwn(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// share returns how long a test has for each target, if the test is to get one in n of
// the whole time, and at least the least.
func share(n int, least time.Duration) time.Duration {
	return max(*soak*side/time.Duration(n*len(targets)), least)
}

// roundLimit bounds a round, and so the length of a history.
const roundLimit = 30 * time.Second

func TestSoak(t *testing.T) {
	total := share(2, 8*time.Second)
	var stale atomic.Int64
	t.Cleanup(func() { // when all targets are through: a lock-delay can spare one the need
		if total >= time.Minute && stale.Load() == 0 {
			t.Error("the fence was never needed: the nemesis does too little")
		}
	})
	forEach(t, func(t *testing.T, tg target, s service) {
		for end := time.Now().Add(total); time.Now().Before(end) && !t.Failed(); {
			stale.Add(int64(round(t, tg, s, min(time.Until(end), roundLimit))))
		}
	})
}

// round lets a nemesis rage among workers for d, checks what they saw, and returns how
// often the fence was needed.
func round(t *testing.T, tg target, s service, d time.Duration) (stale int) {
	r := newResource(true)
	n := &nemesis{crew: newCrew(t, tg, s, r, habits{Keys: 12, Hands: 6}), done: make(map[string]int)}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	n.rage(ctx)
	peace := time.Now()
	for r.written() < 2*n.habits.Keys && time.Since(peace) < time.Minute { // or there is too little to judge
		pause(t.Context(), 100*time.Millisecond)
	}
	ops := n.end()
	t.Logf("%v; the workers ended within %v", n.done, time.Since(peace))
	report := judge(t, append(ops, r.reads(t)...), history.Limits{EarlyGrants: tg.early})
	if report.Writes < 2*n.habits.Keys {
		t.Errorf("got %d writes: too few to say anything", report.Writes)
	}
	checkQuiet(t, tg, s, n.habits)
	return report.Stale
}

// judge fails the test with what the history breaks, and tells how much was done.
func judge(t *testing.T, ops []history.Op, l history.Limits) history.Report {
	t.Helper()
	begin := time.Now()
	r := history.Check(ops, l)
	for i, v := range r.Violations {
		if i == 20 {
			t.Errorf("and %d more", len(r.Violations)-i)
			break
		}
		t.Error(v)
	}
	t.Logf("%d calls: %d grants, %d writes, %d refused as stale; checked within %v", len(ops), r.Grants, r.Writes, r.Stale, time.Since(begin))
	if r.Early > 0 {
		t.Logf("%d grants came before another lease's deadline: %s", r.Early, l.EarlyGrants)
	}
	return r
}

// checkQuiet locks each key, as the last worker's lifetimes there are over soon, and
// then looks for what is left.
func checkQuiet(t *testing.T, tg target, s service, h habits) {
	locks, closeLocks, err := tg.locks(network{Servers: s.addrs, Addrs: s.addrs})
	if err != nil {
		t.Fatal(err)
	}
	bound := 4*tg.ttl + 30*time.Second
	for i := range h.Keys {
		if err := lockOnce(t.Context(), locks, h.key(i), bound); err != nil {
			t.Errorf("%s cannot be locked at the end: %v", h.key(i), err)
		}
	}
	if err := closeLocks(t.Context()); err != nil {
		t.Error(err)
	}
	var left []string
	for end := time.Now().Add(bound); time.Now().Before(end); pause(t.Context(), 50*time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		left, err = s.left(ctx)
		cancel()
		if err == nil && len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %v, %v", left, err)
}

// lockOnce locks key and gives it back, within the bound. What fails as the service still
// settles is tried again.
func lockOnce(ctx context.Context, locks *distlock.Client, key string, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		l, err := locks.Acquire(ctx, key)
		if err == nil {
			err = l.Release(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
}
