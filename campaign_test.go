package distlock_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// A throne checks that a leader's ctx has ended before the next one leads, and
// that tokens rise.
type throne struct {
	mu    sync.Mutex
	by    context.Context
	last  distlock.Token
	terms int
}

func (h *throne) mount(t *testing.T, ctx context.Context, l *distlock.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by != nil && h.by.Err() == nil {
		t.Error("two lead at a time")
	}
	if l.Token() <= h.last {
		t.Errorf("token %v leads after %v", l.Token(), h.last)
	}
	h.by, h.last = ctx, l.Token()
	h.terms++
}

func (h *throne) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.terms
}

// Candidates lose the key again and again, by an outage that only the leader
// has; somebody leads all the same, and never two.
func TestCampaignHasOneLeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		var h throne
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for _, who := range []string{"a", "b", "c"} {
			c := newClient(t, b)
			wg.Go(func() {
				err := distlock.Campaign(ctx, c, "k", func(ctx context.Context, l *distlock.Lease) error {
					h.mount(t, ctx, l)
					<-ctx.Done()
					return context.Cause(ctx)
				})
				is(t, "Campaign of "+who, err, context.Canceled)
			})
		}
		for range 20 {
			time.Sleep(45 * time.Second)
			b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
			time.Sleep(45 * time.Second)
			b.SetHooks(memory.Hooks{})
		}
		if n := h.count(); n < 20 {
			t.Errorf("got %d terms in 20 outages, want one after each", n)
		}
		cancel()
		wg.Wait()
	})
}

var errOwn = errors.New("fn's own")

// What ends a campaign, and with what.
func TestCampaignOutcomes(t *testing.T) {
	type call func(ctx context.Context, c *distlock.Client, b *memory.Backend, l *distlock.Lease, stop func()) error
	lose := func(b *memory.Backend, l *distlock.Lease) { b.Expire(l.Key()); <-l.Done() }
	for name, test := range map[string]struct {
		fn    call
		terms int
		want  []error
		not   []error
	}{
		"done": {func(context.Context, *distlock.Client, *memory.Backend, *distlock.Lease, func()) error { return nil }, 1, []error{nil}, nil},
		"gave up": {
			func(context.Context, *distlock.Client, *memory.Backend, *distlock.Lease, func()) error { return errOwn }, 1,
			[]error{errOwn},
			[]error{distlock.ErrLost},
		},
		"released by itself": {func(ctx context.Context, _ *distlock.Client, _ *memory.Backend, l *distlock.Lease, _ func()) error {
			return l.Release(ctx)
		}, 1, []error{nil}, nil},
		"not noticed": {func(_ context.Context, _ *distlock.Client, b *memory.Backend, l *distlock.Lease, _ func()) error {
			b.Expire(l.Key())
			return nil
		}, 1, []error{distlock.ErrLost}, nil},
		"lost three times": {func(_ context.Context, _ *distlock.Client, b *memory.Backend, l *distlock.Lease, _ func()) error {
			if l.Token() == 4 {
				return errOwn
			}
			lose(b, l)
			return errNet
		}, 4, []error{errOwn}, []error{distlock.ErrLost, errNet}},
		"stopped": {func(ctx context.Context, _ *distlock.Client, _ *memory.Backend, _ *distlock.Lease, stop func()) error {
			stop()
			<-ctx.Done()
			return nil
		}, 1, []error{nil}, nil},
		"stopped after a loss": {func(_ context.Context, _ *distlock.Client, b *memory.Backend, l *distlock.Lease, stop func()) error {
			lose(b, l)
			stop()
			return errOwn
		}, 1, []error{errOwn, distlock.ErrLost}, nil},
		"closed": {func(ctx context.Context, c *distlock.Client, _ *memory.Backend, _ *distlock.Lease, _ func()) error {
			go c.Close(context.Background())
			<-ctx.Done()
			return errOwn
		}, 1, []error{errOwn, distlock.ErrClosed}, []error{distlock.ErrLost}},
	} {
		bubbleIn(t, name, func(t *testing.T) {
			b := memory.New()
			c := newClient(t, b)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			terms := 0
			err := distlock.Campaign(ctx, c, "k", func(ctx context.Context, l *distlock.Lease) error {
				terms++
				return test.fn(ctx, c, b, l, stop)
			})
			is(t, "Campaign", err, test.want...)
			isNot(t, "Campaign", err, test.not...)
			if terms != test.terms {
				t.Errorf("got %d terms, want %d", terms, test.terms)
			}
			if b.Len() != 0 {
				t.Error("still held")
			}
		})
	}
}

// While the service is down a campaign asks at longer and longer intervals.
func TestCampaignBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		n := count(b, memory.Hooks{Before: on(memory.Acquire, netDown)})
		var j journal
		trace := &distlock.Trace{Campaigned: func(_ context.Context, i distlock.CampaignInfo) {
			j.add("%s %s", i.Backend, i.Key)
			is(t, "CampaignInfo.Err", i.Err, errNet)
			if i.Token != 0 || i.Held != 0 || i.Pause <= 0 || i.Pause > 8*time.Second {
				t.Errorf("got %+v", i)
			}
		}}
		c := newClient(t, b, distlock.WithTrace(trace))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		err := distlock.Campaign(ctx, c, "k", func(context.Context, *distlock.Lease) error { return errOwn })
		is(t, "Campaign", err, context.DeadlineExceeded)
		asked := n.of(memory.Acquire)
		if asked < 600/8 || asked > 600/6+10 {
			t.Errorf("asked %d times in 10 minutes of an outage", asked)
		}
		if len(j.lines) != asked || j.lines[0] != "memory k" {
			t.Errorf("the trace was told %d times of %d failures: %v", len(j.lines), asked, j.lines[:1])
		}
		b.SetHooks(memory.Hooks{})
		is(t, "Campaign", distlock.Campaign(t.Context(), c, "k", func(context.Context, *distlock.Lease) error { return errOwn }), errOwn)
	})
}

func TestCampaignEndsInItsPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		b.SetHooks(memory.Hooks{Before: on(memory.Acquire, netDown)})
		c := newClient(t, b)
		fn := func(context.Context, *distlock.Lease) error { return errOwn }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		is(t, "Campaign", distlock.Campaign(ctx, c, "k", fn), context.DeadlineExceeded)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it ended after %v, want its ctx's minute", took)
		}
		start = time.Now()
		time.AfterFunc(time.Minute, func() { c.Close(context.Background()) })
		is(t, "Campaign", distlock.Campaign(t.Context(), c, "k", fn), distlock.ErrClosed)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it ended %v after it began, want at Close", took)
		}
	})
}

func TestCampaignRefusesBadInput(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newClient(t, memory.New())
		fn := func(context.Context, *distlock.Lease) error { return errOwn }
		is(t, "no locker", distlock.Campaign(t.Context(), nil, "k", fn), distlock.ErrInvalid)
		is(t, "no fn", distlock.Campaign(t.Context(), c, "k", nil), distlock.ErrInvalid)
		is(t, "no key", distlock.Campaign(t.Context(), c, "", fn), distlock.ErrInvalid)
		is(t, "bad TTL", distlock.Campaign(t.Context(), c, "k", fn, distlock.WithTTL(0)), distlock.ErrInvalid)
	})
}

// A Locker of the user's own is campaigned through like any.
type locker struct{ distlock.Locker }

func TestCampaignThroughAnotherLocker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		terms := 0
		fn := func(_ context.Context, l *distlock.Lease) error {
			if terms++; terms == 3 {
				return errOwn
			}
			b.Expire("k")
			<-l.Done()
			return nil
		}
		is(t, "Campaign", distlock.Campaign(t.Context(), locker{newClient(t, b)}, "k", fn), errOwn)
	})
}

func TestCampaignReleasesWhenFnDoesNotReturn(t *testing.T) {
	for name, end := range map[string]func(){
		"panic": func() { panic(errOwn) }, "Goexit": runtime.Goexit,
	} {
		bubbleIn(t, name, func(t *testing.T) {
			b := memory.New()
			c := newClient(t, b, distlock.WithTrace(&distlock.Trace{Overrun: func(distlock.OverrunInfo) {}}))
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				_ = distlock.Campaign(t.Context(), c, "k", func(context.Context, *distlock.Lease) error { end(); return nil })
			}()
			if p := <-done; name == "panic" && p != any(errOwn) {
				t.Errorf("got panic %v, want fn's", p)
			}
			if b.Len() != 0 {
				t.Error("still held")
			}
		})
	}
}
