package distlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Waited counts from the refusal or the place in line, whoever was before, and
// is 0 for those that did not wait.
func TestTraceTellsHowLongCallsWaited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		waited := make(map[bool][]time.Duration) // by AcquireInfo.Wait
		b := memory.New()
		c := newClient(t, b, distlock.WithTrace(&distlock.Trace{Acquired: func(_ context.Context, i distlock.AcquireInfo) {
			mu.Lock()
			waited[i.Wait] = append(waited[i.Wait], i.Waited)
			mu.Unlock()
		}}))
		stranger := acquire(t, newClient(t, b), "k")
		_, err := c.TryAcquire(t.Context(), "k")
		is(t, "TryAcquire", err, distlock.ErrHeld)
		time.AfterFunc(3*time.Second, func() { stranger.Release(context.Background()) })
		mine := acquire(t, c, "k") // after 3 s
		time.AfterFunc(2*time.Second, func() { mine.Release(context.Background()) })
		acquire(t, c, "k")     // after 2 s
		acquire(t, c, "other") // at once
		if got := waited[false]; len(got) != 1 || got[0] != 0 {
			t.Errorf("TryAcquire waited %v, want 0", got)
		}
		want := []time.Duration{3 * time.Second, 2 * time.Second, 0}
		for i, got := range waited[true] {
			if got.Round(time.Second) != want[i] {
				t.Errorf("Acquire %d waited %v, want %v", i, got, want[i])
			}
		}
	})
}

// Each lease ends once, by a release that says so or by a loss with its cause.
func TestTraceTellsHowLeasesEnd(t *testing.T) {
	for name, test := range map[string]struct {
		opt  []distlock.Option
		end  func(b *memory.Backend, c *distlock.Client, l *distlock.Lease)
		want distlock.LossCause
		kept bool // it is released, not lost
	}{
		"gone": {end: func(b *memory.Backend, _ *distlock.Client, _ *distlock.Lease) { b.Expire("k") }, want: distlock.LossGone},
		"no answer": {end: func(b *memory.Backend, _ *distlock.Client, _ *distlock.Lease) {
			b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
		}, want: distlock.LossNoAnswer},
		"not renewed": {opt: []distlock.Option{distlock.WithoutRenewal()}, want: distlock.LossNotRenewed},
		"max-hold":    {opt: []distlock.Option{distlock.WithMaxHold(time.Minute)}, want: distlock.LossMaxHold},
		"released": {end: func(_ *memory.Backend, _ *distlock.Client, l *distlock.Lease) {
			l.Release(context.Background())
		}, kept: true},
		"released in doubt": {end: func(b *memory.Backend, _ *distlock.Client, l *distlock.Lease) {
			b.SetHooks(memory.Hooks{Before: on(memory.Release, netDown)})
			l.Release(context.Background())
			b.SetHooks(memory.Hooks{})
		}, kept: true},
		"closed": {end: func(_ *memory.Backend, c *distlock.Client, _ *distlock.Lease) { c.Close(context.Background()) }, kept: true},
	} {
		bubbleIn(t, name, func(t *testing.T) {
			var mu sync.Mutex
			var lost []distlock.LossCause
			ended := 0
			b := memory.New()
			c := newClient(t, b, distlock.WithTrace(&distlock.Trace{
				Lost: func(i distlock.LostInfo) {
					mu.Lock()
					lost = append(lost, i.Cause)
					mu.Unlock()
				},
				Released: func(_ context.Context, i distlock.ReleaseInfo) {
					mu.Lock()
					if i.Ended {
						ended++
					}
					mu.Unlock()
				},
			}))
			l := acquire(t, c, "k", test.opt...)
			if test.end != nil {
				test.end(b, c, l)
			}
			<-l.Done()
			for range 3 {
				_ = l.Release(t.Context())
			}
			time.Sleep(time.Minute)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case test.kept && (ended != 1 || len(lost) != 0), !test.kept && (ended != 0 || len(lost) != 1):
				t.Errorf("got %d ends by release and losses %v, want one end", ended, lost)
			case !test.kept && lost[0] != test.want:
				t.Errorf("got cause %v, want %v", lost[0], test.want)
			}
		})
	}
}
