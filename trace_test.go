package distlock_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// journal collects what a Trace is told, a line each.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
	j.mu.Unlock()
}

func (j *journal) trace() *distlock.Trace {
	return &distlock.Trace{
		Acquired: func(_ context.Context, i distlock.AcquireInfo) {
			j.add("acquired %s token=%v wait=%v attempts=%d took=%v err=%v", i.Key, i.Token, i.Wait, i.Attempts, i.Duration, i.Err)
		},
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			j.add("attempted %s #%d retry=%v err=%v", i.Key, i.Number, i.Retry, i.Err)
		},
		Renewed: func(i distlock.RenewInfo) { j.add("renewed %s late=%v left=%v err=%v", i.Key, i.Late, i.Left, i.Err) },
		Lost:    func(i distlock.LostInfo) { j.add("lost %s token=%v held=%v err=%v", i.Key, i.Token, i.Held, i.Err) },
		Released: func(_ context.Context, i distlock.ReleaseInfo) {
			j.add("released %s token=%v held=%v err=%v", i.Key, i.Token, i.Held, i.Err)
		},
		CleanedUp: func(i distlock.CleanupInfo) { j.add("cleaned up %s err=%v", i.Key, i.Err) },
		Overrun: func(i distlock.OverrunInfo) {
			j.add("overrun %s token=%v past=%v returned=%v err=%v", i.Key, i.Token, i.Past, i.Returned, i.Err)
		},
	}
}

func TestTraceTellsAStory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var j journal
		b := memory.New()
		c := newClient(t, b, distlock.WithTrace(j.trace()), distlock.WithTTL(12*time.Second))
		l := acquire(t, c, "k")
		time.Sleep(5 * time.Second)
		_, _ = c.TryAcquire(t.Context(), "k")
		is(t, "Release", l.Release(t.Context()), nil)
		b.SetHooks(memory.Hooks{After: on(memory.Acquire, netDown)})
		_, _ = c.Acquire(t.Context(), "k")
		b.SetHooks(memory.Hooks{})
		time.Sleep(time.Second)
		l = acquire(t, c, "k")
		b.Expire("k")
		<-l.Done()
		time.Sleep(time.Second)
		want := []string{
			"attempted k #1 retry=false err=<nil>",
			"acquired k token=1 wait=true attempts=1 took=0s err=<nil>",
			"renewed k late=0s left=7.878s err=<nil>",
			"attempted k #1 retry=false err=held by another owner",
			`acquired k token=0 wait=false attempts=1 took=0s err=distlock: acquire "k" (memory): held by another owner`,
			"released k token=1 held=5s err=<nil>",
			"attempted k #1 retry=false err=connection reset",
			`acquired k token=0 wait=true attempts=1 took=0s err=distlock: acquire "k" (memory): connection reset`,
			"cleaned up k err=<nil>",
			"attempted k #1 retry=false err=<nil>",
			"acquired k token=3 wait=true attempts=1 took=0s err=<nil>",
			"renewed k late=0s left=7.878s err=lease lost",
			`lost k token=3 held=4s err=distlock: hold "k" (memory): lease lost`,
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		for i := range max(len(want), len(j.lines)) {
			switch {
			case i >= len(j.lines):
				t.Errorf("missing: %s", want[i])
			case i >= len(want):
				t.Errorf("more than wanted: %s", j.lines[i])
			case j.lines[i] != want[i] && !swapped(j.lines, want, i):
				t.Errorf("line %d: got %s, want %s", i, j.lines[i], want[i])
			}
		}
	})
}

// swapped reports whether line i is one of two neighbours that come from
// different goroutines, in either order.
func swapped(got, want []string, i int) bool {
	for _, k := range []int{i - 1, i + 1} {
		if k >= 0 && k < len(want) && k < len(got) && got[i] == want[k] && got[k] == want[i] {
			return true
		}
	}
	return false
}

// A trace may come back to the client, and one that blocks delays no signal.
func TestTraceMayBlockAndAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		var c *distlock.Client
		c = newClient(t, b, distlock.WithTrace(&distlock.Trace{
			Lost: func(i distlock.LostInfo) {
				time.Sleep(time.Minute)
				acquire(t, c, i.Key+"'").Release(context.Background())
			},
			CleanedUp: func(distlock.CleanupInfo) { time.Sleep(time.Second) },
		}))
		var leases []*distlock.Lease
		for i := range 10 {
			leases = append(leases, acquire(t, c, fmt.Sprint(i), distlock.WithoutRenewal()))
		}
		start := time.Now()
		for _, l := range leases {
			<-l.Done()
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("the last loss was signalled after %v", d)
		}
		time.Sleep(time.Hour)
	})
}

func TestLogTrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var out bytes.Buffer // written by one goroutine at a time: slog locks
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
			Level: slog.LevelDebug,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		}))
		b := memory.New()
		c := newClient(t, b, distlock.WithTrace(distlock.LogTrace(log)))
		other := newClient(t, b)
		is(t, "Release", acquire(t, c, "k").Release(t.Context()), nil)
		l := acquire(t, c, "k")
		b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
		time.Sleep(10500 * time.Millisecond)
		b.SetHooks(memory.Hooks{})
		b.Expire("k")
		<-l.Done()
		held := acquire(t, other, "k")
		_, _ = c.TryAcquire(t.Context(), "k") // told to its caller, so not logged
		time.AfterFunc(time.Second, func() {
			b.SetHooks(memory.Hooks{Before: on(memory.Acquire, netDown)})
			time.Sleep(time.Second)
			b.SetHooks(memory.Hooks{})
			held.Release(context.Background())
		})
		acquire(t, c, "k")
		_ = c.Break(t.Context(), "k", 99) // told to its caller, so not logged
		is(t, "Break", c.Break(t.Context(), "k", 4), nil)
		want := []string{
			`level=DEBUG msg="lock acquired" backend=memory key=k token=1 took=0s attempts=1`,
			`level=DEBUG msg="lock released" backend=memory key=k token=1 held=0s`,
			`level=DEBUG msg="lock acquired" backend=memory key=k token=2 took=0s attempts=1`,
			`level=WARN msg="lock renewal failed" backend=memory key=k left=19.698s err="connection reset"`,
			`level=WARN msg="lock renewal failed" backend=memory key=k left=18.698s err="lease lost"`,
			`level=WARN msg="lock lost" backend=memory key=k token=2 held=11s cause=gone err="distlock: hold \"k\" (memory): lease lost"`,
			`level=WARN msg="lock attempt failed" backend=memory key=k attempt=`,
			`level=DEBUG msg="lock acquired" backend=memory key=k token=4`,
			`level=WARN msg="lock broken by force" backend=memory key=k token=4 delay=0s`,
		}
		for _, line := range want {
			if !strings.Contains(out.String(), line) {
				t.Errorf("missing: %s", line)
			}
		}
		if n := strings.Count(out.String(), "lock lost"); n != 1 {
			t.Errorf("the loss was logged %d times, want once", n)
		}
		if strings.Contains(out.String(), "token=99") {
			t.Error("a Break that failed was logged")
		}
		if strings.Contains(out.String(), "err=<nil>") {
			t.Error("a success was logged as a failure")
		}
		if t.Failed() {
			t.Log(out.String())
		}
	})
}

// However many leases a session takes with it.
func TestLossesAreReportedByOneGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		told, at, most := 0, 0, 0
		v := newVault()
		c := newClient(t, v, distlock.WithTrace(&distlock.Trace{Lost: func(distlock.LostInfo) {
			mu.Lock()
			told, at = told+1, at+1
			most = max(most, at)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			at--
			mu.Unlock()
		}}))
		for i := range 1000 {
			acquire(t, c, fmt.Sprint(i))
		}
		v.sessions[0].lost(distlock.Owner{}, errNet)
		time.Sleep(2 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if told != 1000 || most != 1 {
			t.Errorf("%d losses told, up to %d at a time; want 1000, 1", told, most)
		}
	})
}
