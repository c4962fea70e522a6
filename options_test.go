package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Bad input is an error before the wire, and names field, value and bound.
func TestBadOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		opt  distlock.Option
		says []string
	}{
		{"no TTL", distlock.WithTTL(0), []string{"TTL is 0s", "between 10ms and 24h"}},
		{"negative TTL", distlock.WithTTL(-time.Second), []string{"TTL is -1s", "between 10ms and 24h"}},
		{"short TTL", distlock.WithTTL(9 * time.Millisecond), []string{"TTL is 9ms", "10ms"}},
		{"long TTL", distlock.WithTTL(25 * time.Hour), []string{"TTL is 25h", "24h"}},
		{"negative lock-delay", distlock.WithLockDelay(-1), []string{"lock-delay is -1ns", "0 or more"}},
		{"long lock-delay", distlock.WithLockDelay(2 * time.Hour), []string{"lock-delay is 2h", "between 0 and 1h"}},
		{"no max-hold", distlock.WithMaxHold(0), []string{"max-hold is 0s", "more than 0"}},
		{"no loss warning", distlock.WithLossWarning(nil), []string{"loss warning is nil", "a function"}},
		{"no min-hold", distlock.WithMinHold(0), []string{"min-hold is 0s", "more than 0"}},
		{"endless min-hold", distlock.WithMinHold(100 * time.Hour), []string{"min-hold", "100h0m0s", "24h0m0s"}},
		{"long holder", distlock.WithHolder(strings.Repeat("x", 257)), []string{"holder is", "256 bytes"}},
		{"holder with control characters", distlock.WithHolder("a\nb"), []string{`holder is "a\nb"`, "control"}},
		{"holder that is no UTF-8", distlock.WithHolder("\xff"), []string{`holder is "\xff"`, "UTF-8"}},
		{"zero option", distlock.Option{}, []string{"option is zero"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := memory.New()
			calls := count(b, memory.Hooks{})
			c, err := distlock.New(b, test.opt)
			if c != nil {
				t.Error("New: got a client")
			}
			_, callErr := newClient(t, b).Acquire(t.Context(), "k", test.opt)
			for what, err := range map[string]error{"New": err, "Acquire": callErr} {
				is(t, what, err, distlock.ErrInvalid)
				for _, want := range test.says {
					if err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %q, want it to say %q", what, err, want)
					}
				}
			}
			if n := calls.of(memory.Open) + calls.of(memory.Acquire); n != 0 {
				t.Errorf("%d calls to the service", n)
			}
		})
	}
}

func TestOptionsOfNewOnly(t *testing.T) {
	c := newClient(t, memory.New())
	for name, opt := range map[string]distlock.Option{
		"RequireFencing": distlock.RequireFencing(distlock.FencingNone),
		"WithTrace":      distlock.WithTrace(nil),
	} {
		_, err := c.TryAcquire(t.Context(), "k", opt)
		is(t, name, err, distlock.ErrInvalid)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("got %q, want it to name %s", err, name)
		}
	}
}

func TestBadKeys(t *testing.T) {
	b := memory.New()
	calls := count(b, memory.Hooks{})
	c := newClient(t, b)
	for key, says := range map[string]string{
		"":                       `key is ""`,
		strings.Repeat("k", 513): "513 bytes long, must be 1 to 512 bytes",
		"\xff":                   `key is "\xff", must be valid UTF-8`,
		"a\x00b":                 `key is "a\x00b", must be without NUL`,
	} {
		_, err := c.Acquire(t.Context(), key)
		is(t, key, err, distlock.ErrInvalid)
		if err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("got %q, want it to say %q", err, says)
		}
		err = distlock.Do(t.Context(), c, key, func(context.Context, *distlock.Lease) error { return nil })
		is(t, "Do", err, distlock.ErrInvalid)
	}
	if n := calls.of(memory.Open) + calls.of(memory.Acquire); n != 0 {
		t.Errorf("%d calls to the service", n)
	}
	for _, key := range []string{"k", strings.Repeat("k", 512), "ключ/{a}:b\n", " "} {
		is(t, "Release", acquire(t, c, key).Release(t.Context()), nil)
	}
}

func TestNewWithoutABackend(t *testing.T) {
	_, err := distlock.New(nil)
	is(t, "New", err, distlock.ErrInvalid)
	if want := "distlock: new: invalid argument: backend is nil, must be a Backend"; err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// fenced is a backend with another fencing level.
type fenced struct {
	*memory.Backend
	level distlock.Fencing
}

func (f fenced) Info() distlock.Info { return distlock.Info{Name: "fenced", Fencing: f.level} }

func TestRequireFencing(t *testing.T) {
	levels := []distlock.Fencing{distlock.FencingNone, distlock.FencingBestEffort, distlock.FencingDurable}
	for _, offers := range levels {
		for _, required := range levels {
			c, err := distlock.New(fenced{memory.New(), offers}, distlock.RequireFencing(required))
			if required <= offers {
				is(t, "New", err, nil)
				continue
			}
			is(t, "New", err, distlock.ErrNoFencing)
			if c != nil || err != nil && !strings.Contains(err.Error(), offers.String()) {
				t.Errorf("got %v, %v", c, err)
			}
		}
	}
}

func TestHolderAndTermsReachTheBackend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got distlock.Request
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return spy{s, &got} }}
		c := newClient(t, b, distlock.WithHolder("pod-1"), distlock.WithTTL(time.Minute))
		acquire(t, c, "a")
		if got.Holder != "pod-1" || got.Terms != (distlock.Terms{TTL: time.Minute}) || got.Key != "a" {
			t.Errorf("got %+v", got)
		}
		first := got.Owner
		acquire(t, c, "b", distlock.WithHolder("pod-2"), distlock.WithTTL(time.Second), distlock.WithLockDelay(time.Hour))
		if got.Holder != "pod-2" || got.Terms != (distlock.Terms{TTL: time.Second, LockDelay: time.Hour}) {
			t.Errorf("got %+v", got)
		}
		if first == got.Owner || first == (distlock.Owner{}) {
			t.Error("two acquisitions share an owner")
		}
	})
}

// Whoever says nothing is shown by host and process, and an empty text stays empty.
func TestHolderByDefault(t *testing.T) {
	t.Parallel()
	var got distlock.Request
	b := tweak{memory.New(), func(s memorySession) distlock.Session { return spy{s, &got} }}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, b)
	acquire(t, c, "a")
	if want := fmt.Sprintf("%s/%d", host, os.Getpid()); got.Holder != want {
		t.Errorf("got %q, want %q", got.Holder, want)
	}
	acquire(t, c, "b", distlock.WithHolder(""))
	if got.Holder != "" {
		t.Errorf("got %q for an empty text in a call", got.Holder)
	}
	acquire(t, newClient(t, b, distlock.WithHolder("")), "c")
	if got.Holder != "" {
		t.Errorf("got %q for an empty text of a client", got.Holder)
	}
}

// What a host may be called must be good for WithHolder.
func TestProcessName(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"web-3": "web-3/4711", "": "/4711", "a\x00b\nc": "abc/4711", "a\xffb": "ab/4711",
		strings.Repeat("x", 300): strings.Repeat("x", 251) + "/4711", strings.Repeat("ü", 200): strings.Repeat("ü", 125) + "/4711",
	} {
		got := distlock.ProcessName(host, 4711)
		if got != want {
			t.Errorf("%.20q: got %q, want %q", host, got, want)
		}
		newClient(t, memory.New(), distlock.WithHolder(got))
	}
}

type spy struct {
	memorySession
	got *distlock.Request
}

func (s spy) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	*s.got = r
	return s.memorySession.TryAcquire(ctx, r)
}

func TestPing(t *testing.T) {
	b := memory.New()
	c := newClient(t, b)
	is(t, "Ping", c.Ping(t.Context()), nil)
	b.SetHooks(memory.Hooks{Before: on(memory.Ping, netDown)})
	err := c.Ping(t.Context())
	is(t, "Ping", err, errNet)
	var e *distlock.Error
	if !errors.As(err, &e) || e.Op != "ping" || err.Error() != "distlock: ping (memory): connection reset" {
		t.Errorf("got %q", err)
	}
}

// A service that does not answer is told by calls that were given no time of their own.
func TestCallsWithoutALeaseAreBounded(t *testing.T) {
	for op, call := range map[memory.Op]func(context.Context, *distlock.Client) error{
		memory.Ping: func(ctx context.Context, c *distlock.Client) error { return c.Ping(ctx) },
		memory.Inspect: func(ctx context.Context, c *distlock.Client) error {
			_, err := c.Inspect(ctx, "k")
			return err
		},
	} {
		bubbleIn(t, string(op), func(t *testing.T) {
			b := memory.New()
			b.SetHooks(memory.Hooks{Before: on(op, hang)})
			c := newClient(t, b)
			start := time.Now()
			err := call(t.Context(), c)
			isNot(t, string(op), err, nil)
			isNot(t, string(op), err, context.DeadlineExceeded) // that is the caller's
			if took := time.Since(start); took != distlock.OpenBound {
				t.Errorf("it took %v, want %v", took, distlock.OpenBound)
			}
		})
	}
}

func TestCloseCutsPingShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		b.SetHooks(memory.Hooks{Before: on(memory.Ping, hang)})
		c := newClient(t, b)
		ping := make(chan error)
		go func() { ping <- c.Ping(t.Context()) }()
		synctest.Wait()
		is(t, "Close", c.Close(t.Context()), nil)
		err := <-ping
		is(t, "Ping", err, distlock.ErrClosed)
		isNot(t, "Ping", err, context.Canceled)
	})
}
