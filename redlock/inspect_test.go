package redlock_test

import (
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
