package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	"github.com/distlock-go/distlock/redlock"
)

// checkSame checks that err says that two of the nodes are one server.
func checkSame(t *testing.T, call string, err error) {
	t.Helper()
	if !errors.Is(err, distlock.ErrInvalid) || !strings.Contains(err.Error(), "the same server as node") {
		t.Errorf("%s: got %v, want ErrInvalid and which nodes are the same server", call, err)
	}
}

// Who has named one server twice has a majority that is none.
func TestSameServerTwiceIsRefused(t *testing.T) {
	t.Parallel()
	a := addresses(t)
	for _, addrs := range [][]string{{a[0], a[1], a[0]}, {a[0], a[1], a[2], a[3], a[3]}} {
		c := client(t, redlock.New(dial(t, addrs), nil))
		checkSame(t, "Ping", c.Ping(within(t, 5*time.Second)))
		c = client(t, redlock.New(dial(t, addrs), nil))
		_, err := c.TryAcquire(within(t, 5*time.Second), t.Name())
		checkSame(t, "TryAcquire", err)
		_, err = c.Acquire(within(t, 5*time.Second), t.Name())
		checkSame(t, "Acquire", err)
	}
}

// A node that could not be asked at first may turn out to be one of the others.
func TestSameServerTwiceIsRefusedLater(t *testing.T) {
	t.Parallel()
	a := addresses(t)
	p := locktest.NewProxy(t, a[1])
	p.Swallow()
	c := client(t, redlock.New(dial(t, []string{a[0], a[1], a[2], a[3], p.Addr()}), nil))
	ctx := within(t, 30*time.Second)
	if err := c.Ping(ctx); err != nil {
		t.Errorf("got %v from Ping with one node of five hung, want nil", err)
	}
	l, err := c.TryAcquire(ctx, t.Name())
	if err != nil {
		t.Fatalf("got %v with one node of five hung, want a lease", err)
	}
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
	p.Restore()
	eventually(t, "the node is known", func() bool {
		l, err := c.TryAcquire(ctx, t.Name())
		if err != nil {
			checkSame(t, "TryAcquire", err)
			return true
		}
		l.Release(context.Background())
		return false
	})
}

func TestAMajorityThatCannotBeReachedIsNamed(t *testing.T) {
	t.Parallel()
	a := addresses(t)
	addrs := []string{a[0], a[1], "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
	c := client(t, redlock.New(dial(t, addrs), nil))
	for _, err := range []error{c.Ping(within(t, 20*time.Second)), func() error {
		_, err := c.TryAcquire(within(t, 20*time.Second), t.Name())
		return err
	}()} {
		if err == nil || errors.Is(err, distlock.ErrHeld) {
			t.Fatalf("got %v, want an error of the nodes", err)
		}
		for _, addr := range addrs[2:] {
			if !strings.Contains(err.Error(), addr) {
				t.Errorf("got %v, want node %s named", err, addr)
			}
		}
	}
}
