package consul_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
)

// counting counts requests.
func counting(n *atomic.Int64) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		n.Add(1)
		return next.RoundTrip(r)
	}
}

// Stands for: a lost race was taken for a lock-delay, and a waiter slept for 5 s
// while the key was free; nine and more requests were sent for each turn.
func TestTwoContendersHandOver(t *testing.T) {
	const rounds = 50
	opts := options()
	var requests atomic.Int64
	var clients [2]*distlock.Client
	for i := range clients {
		clients[i] = locks(t, consullock.New(connect(t, through(counting(&requests))), opts))
		release(t, acquire(t, clients[i], "warm-up"))
	}
	requests.Store(0)
	var b baton
	var running sync.WaitGroup
	for i, c := range clients {
		running.Go(func() {
			for range rounds {
				l, err := c.Acquire(within(t, time.Minute), "k")
				if err != nil {
					t.Error(err)
					return
				}
				b.taken(i)
				time.Sleep(2 * time.Millisecond) // work
				b.given()
				release(t, l)
			}
		})
	}
	running.Wait()
	slices.Sort(b.waits)
	n := len(b.waits)
	each := float64(requests.Load()) / (2 * rounds)
	t.Logf("%d hand-overs in %d grants: p50 %v, p99 %v; %.1f requests a grant", n, 2*rounds, b.waits[n/2], b.waits[n*99/100], each)
	switch {
	case n < rounds:
		t.Errorf("%d hand-overs in %d grants: one of them took most", n, 2*rounds)
	case b.waits[n*99/100] > time.Second:
		t.Errorf("p99 is %v, want less than 1 s", b.waits[n*99/100])
	case each > 5:
		t.Errorf("%.1f requests a grant, want about 4", each)
	}
}

// A baton is passed between contenders. Its holder alone touches it.
type baton struct {
	last  int // who had it last, plus one
	since time.Time
	waits []time.Duration // from one's release to the other's grant
}

func (b *baton) taken(by int) {
	if b.last != 0 && b.last != by+1 {
		b.waits = append(b.waits, time.Since(b.since))
	}
	b.last = by + 1
}

func (b *baton) given() { b.since = time.Now() }

// Stands for: who released the lock was always the first to have it again, or
// who lived closest, and others got it hundreds of times more seldom.
func TestNobodyStarves(t *testing.T) {
	const contenders = 8
	opts := options()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var grants [contenders]int
	var running sync.WaitGroup
	for i := range contenders {
		c := locks(t, consullock.New(connect(t), opts))
		running.Go(func() {
			for {
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					return
				}
				grants[i]++
				release(t, l)
			}
		})
	}
	running.Wait()
	least, most := slices.Min(grants[:]), slices.Max(grants[:])
	t.Logf("grants: %v", grants)
	if most > 2*least {
		t.Errorf("the luckiest had the key %d times, the unluckiest %d: more than twice as often", most, least)
	}
}

// Stands for: a client whose neighbour needs longer to be told.
func TestADistantWaiterDoesNotStarve(t *testing.T) {
	t.Parallel()
	opts := options()
	const delay = 5 * time.Millisecond
	far := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		time.Sleep(delay)
		resp, err := next.RoundTrip(r)
		time.Sleep(delay)
		return resp, err
	}
	near, distant := locks(t, consullock.New(connect(t), opts)), locks(t, consullock.New(connect(t, through(far)), opts))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var grants [2]int
	var running sync.WaitGroup
	for i, c := range []distlock.Locker{near, distant} {
		running.Go(func() {
			for {
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					return
				}
				grants[i]++
				release(t, l)
			}
		})
	}
	running.Wait()
	t.Logf("near %d, distant %d", grants[0], grants[1])
	if grants[0] > 8*grants[1] { // it was 23 times without yielding
		t.Errorf("near %d, distant %d: more than eight times as often", grants[0], grants[1])
	}
}

// Stands for: the end of a session woke nobody, and waiters slept on.
func TestTheEndOfASessionWakesAWaiter(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	holder, _ := open(t, consullock.New(connect(t), opts), long)
	waiter, _ := open(t, consullock.New(connect(t), opts), long)
	for range 3 {
		h := grant(t, holder, "k")
		woken := make(chan struct{}, 10)
		stop := waiter.(distlock.Waker).Watch("k", func() { woken <- struct{}{} })
		for len(woken) > 0 {
			<-woken
		}
		if _, err := admin.Session().Destroy(entryOf(t, admin, opts, "k").Session, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-woken:
		case <-time.After(10 * time.Second):
			t.Fatal("no wake-up within 10 s")
		}
		stop()
		if err := holder.Release(t.Context(), h); !isLost(err) {
			t.Errorf("got %v from the release, want ErrLost", err)
		}
		holder, _ = open(t, consullock.New(connect(t), opts), long)
	}
}
