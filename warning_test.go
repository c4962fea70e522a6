package distlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// A warned collects warnings, each with the time since start and what is left.
type warned struct {
	start time.Time
	at    chan [2]time.Duration
}

func newWarned() *warned {
	return &warned{time.Now(), make(chan [2]time.Duration, 10)}
}

func (w *warned) option() distlock.Option {
	return distlock.WithLossWarning(func(l *distlock.Lease) {
		w.at <- [2]time.Duration{time.Since(w.start), time.Until(l.Deadline())}
	})
}

// all returns what came, and empties it.
func (w *warned) all() (got [][2]time.Duration) {
	for len(w.at) > 0 {
		got = append(got, <-w.at)
	}
	return got
}

// With a TTL of 12 s renewals are due every 4 s, and fail, or have no answer,
// from the first one on: the holder is warned after 8 s, with about 4 s left.
func TestLossWarning(t *testing.T) {
	const ttl = 12 * time.Second
	for name, fault := range map[string]func(context.Context) error{"fails": netDown, "hangs": hang} {
		bubbleIn(t, "grant/"+name, func(t *testing.T) {
			b, w, j := memory.New(), newWarned(), &journal{}
			trace := &distlock.Trace{Warned: func(i distlock.WarnInfo) {
				j.add("%s %s %v %v", i.Backend, i.Key, i.Token, i.Left.Round(time.Millisecond))
			}}
			c := newClient(t, b, distlock.WithTTL(ttl), distlock.WithTrace(trace))
			b.SetHooks(memory.Hooks{Before: on(memory.Renew, fault)})
			l := acquire(t, c, "k", w.option())
			<-l.Done()
			checkWarned(t, w, 8*time.Second, 3878*time.Millisecond)
			if len(j.lines) != 1 || j.lines[0] != "memory k 1 3.878s" {
				t.Errorf("the trace was told %q", j.lines)
			}
		})
		bubbleIn(t, "session/"+name, func(t *testing.T) {
			v, w := newVault(), newWarned()
			v.onKeepAlive = fault
			c := newClient(t, v, distlock.WithTTL(ttl), w.option())
			l := acquire(t, c, "k")
			<-l.Done()
			checkWarned(t, w, 8*time.Second, 3878*time.Millisecond)
		})
	}
}

func checkWarned(t *testing.T, w *warned, at, left time.Duration) {
	t.Helper()
	got := w.all()
	if len(got) != 1 || got[0][0] != at || got[0][1].Round(time.Millisecond) != left {
		t.Errorf("warned at %v, want once at %v with %v left", got, at, left)
	}
}

// A renewal that is late but succeeds takes the warning back, and the next
// outage brings another one. One that is retried in time warns nobody.
func TestLossWarningAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b, w := memory.New(), newWarned()
		c := newClient(t, b, distlock.WithTTL(12*time.Second), w.option())
		l := acquire(t, c, "k")
		for range 2 {
			failed := false
			b.SetHooks(memory.Hooks{Before: on(memory.Renew, func(context.Context) error {
				if failed {
					return nil
				}
				failed = true
				return errNet
			})})
			time.Sleep(time.Minute)
			if got := w.all(); got != nil || !failed {
				t.Errorf("one failure: warned %v, want never", got)
			}
			b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
			<-w.at
			b.SetHooks(memory.Hooks{})
			time.Sleep(time.Minute)
			if got := w.all(); got != nil {
				t.Errorf("warned once more: %v", got)
			}
		}
		if !l.Valid() {
			t.Errorf("the lease was lost: %v", l.Err())
		}
	})
}

func TestLossWarningAgainOnASession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v, w := newVault(), newWarned()
		c := newClient(t, v, distlock.WithTTL(12*time.Second), w.option())
		l := acquire(t, c, "k")
		for range 2 {
			v.set(func() { v.onKeepAlive = netDown })
			<-w.at
			v.set(func() { v.onKeepAlive = nil })
			time.Sleep(time.Minute)
			if got := w.all(); got != nil {
				t.Errorf("warned once more: %v", got)
			}
		}
		if !l.Valid() {
			t.Errorf("the lease was lost: %v", l.Err())
		}
	})
}

// Ends that were asked for, and losses that come at once, are not announced.
func TestNoLossWarning(t *testing.T) {
	for name, test := range map[string]struct {
		opt distlock.Option
		end func(b *memory.Backend, c *distlock.Client, l *distlock.Lease)
	}{
		"without renewal": {opt: distlock.WithoutRenewal()},
		"max-hold":        {opt: distlock.WithMaxHold(20 * time.Second)},
		"deleted":         {end: func(b *memory.Backend, _ *distlock.Client, l *distlock.Lease) { b.Expire(l.Key()) }},
		"released":        {end: func(_ *memory.Backend, _ *distlock.Client, l *distlock.Lease) { l.Release(context.Background()) }},
		"closed":          {end: func(_ *memory.Backend, c *distlock.Client, _ *distlock.Lease) { c.Close(context.Background()) }},
		"renewed": {end: func(_ *memory.Backend, _ *distlock.Client, l *distlock.Lease) {
			time.Sleep(time.Hour)
			l.Release(context.Background())
		}},
	} {
		bubbleIn(t, name, func(t *testing.T) {
			b, w := memory.New(), newWarned()
			c := newClient(t, b, w.option())
			opts := []distlock.Option{distlock.WithTTL(12 * time.Second)}
			if test.end == nil {
				opts = append(opts, test.opt)
			}
			l := acquire(t, c, "k", opts...)
			if test.end != nil {
				test.end(b, c, l)
			}
			<-l.Done()
			time.Sleep(time.Minute)
			if got := w.all(); got != nil {
				t.Errorf("warned %v, want never", got)
			}
		})
	}
}

// A lease that is granted on a session whose renewals fail already is told so.
func TestLossWarningOfALateGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v, w := newVault(), newWarned()
		v.onKeepAlive = netDown
		c := newClient(t, v, distlock.WithTTL(12*time.Second))
		acquire(t, c, "k")
		time.Sleep(8500 * time.Millisecond)
		l := acquire(t, c, "late", w.option())
		<-l.Done()
		checkWarned(t, w, 8500*time.Millisecond, 3378*time.Millisecond)
	})
}
