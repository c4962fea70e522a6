package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// A minority that is down changes nothing, a majority makes both calls errors that
// tell of each node.
func TestInspectAndBreakByMajority(t *testing.T) {
	addrs := addresses(t)
	prefix := "majority-" + distlock.NewOwner().Text() + ":"
	ctx := within(t, time.Minute)
	backend := func(down int) distlock.Backend {
		clients := dial(t, addrs)
		for i := range down {
			dead := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
			t.Cleanup(func() { dead.Close() })
			clients[i] = dead
		}
		return redlock.New(clients, &redlock.Options{Prefix: prefix, Fenced: true, NodeTimeout: 5 * time.Second})
	}
	whole := backend(0)
	c := client(t, whole)
	l, err := c.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	minority := (len(addrs) - 1) / 2
	few, many := client(t, backend(minority)), client(t, backend(minority+1))
	if info, err := few.Inspect(ctx, "k"); err != nil || !info.Held || info.Token != l.Token() || info.Left <= 0 {
		t.Errorf("Inspect with %d nodes down: got %+v, %v", minority, info, err)
	}
	_, inspected := many.Inspect(ctx, "k")
	for what, err := range map[string]error{"Inspect": inspected, "Break": many.Break(ctx, "k", l.Token())} {
		if err == nil || errors.Is(err, distlock.ErrStale) || strings.Count(err.Error(), "127.0.0.1:1: dial") != minority+1 {
			t.Errorf("%s with %d nodes down: got %v", what, minority+1, err)
		}
	}
	if err := few.Break(ctx, "k", l.Token()); err != nil {
		t.Errorf("Break with %d nodes down: %v", minority, err)
	}
	if info, err := c.Inspect(ctx, "k"); err != nil || info.Held {
		t.Errorf("after it: got %+v, %v", info, err)
	}
	if err := few.Break(ctx, "k", l.Token()); !errors.Is(err, distlock.ErrStale) {
		t.Errorf("Break again: got %v, want ErrStale", err)
	}
}

// deaf is a client whose server is not told to end a grant.
type deaf struct{}

var errDeaf = errors.New("not told")

func (deaf) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (deaf) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		for _, a := range cmd.Args() {
			if text, ok := a.(string); ok && strings.HasSuffix(text, ":broken") {
				cmd.SetErr(errDeaf)
				return errDeaf
			}
		}
		return next(ctx, cmd)
	}
}

func (deaf) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// A minority that has given the grant up is not enough; what it gave up counts when
// Break is asked again.
func TestBreakNeedsAMajority(t *testing.T) {
	addrs := addresses(t)
	ctx := within(t, time.Minute)
	o := &redlock.Options{Prefix: "needs-" + distlock.NewOwner().Text() + ":", Fenced: true, NodeTimeout: 5 * time.Second}
	c := client(t, redlock.New(dial(t, addrs), o))
	l, err := c.Acquire(ctx, "k", distlock.WithoutRenewal()) // and so without repair
	if err != nil {
		t.Fatal(err)
	}
	some := dial(t, addrs)
	for i := range len(addrs)/2 + 1 {
		some[i].AddHook(deaf{})
	}
	err = client(t, redlock.New(some, o)).Break(ctx, "k", l.Token())
	if !errors.Is(err, errDeaf) || errors.Is(err, distlock.ErrStale) {
		t.Errorf("Break at a minority: got %v, want an error that tells of the others", err)
	}
	if info, err := c.Inspect(ctx, "k"); err != nil || !info.Held || info.Token != l.Token() {
		t.Errorf("after it: got %+v, %v; want it held", info, err)
	}
	if err := client(t, redlock.New(dial(t, addrs), o)).Break(ctx, "k", l.Token()); err != nil {
		t.Errorf("Break again: %v", err)
	}
	if info, err := c.Inspect(ctx, "k"); err != nil || info.Held {
		t.Errorf("after it: got %+v, %v; want it free", info, err)
	}
}
