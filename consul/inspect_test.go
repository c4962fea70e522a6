package consul_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

// is fails the test unless err matches want, or is nil where that is.
func is(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// Entries that are no grant's are reported and left as they are, also the lock of
// another program.
func TestInspectOfWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	c := locks(t, consullock.New(connect(t), opts))
	id, _, err := admin.Session().CreateNoChecks(&api.SessionEntry{Behavior: api.SessionBehaviorDelete}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Session().Destroy(id, nil)
	if ok, _, err := admin.KV().Acquire(&api.KVPair{Key: opts.Prefix + "locked", Value: []byte("of consul lock"), Session: id}, nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	owner := []byte(distlock.NewOwner().Text() + " me")
	if _, err := admin.KV().Put(&api.KVPair{Key: opts.Prefix + "put", Value: owner}, nil); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"locked", "put"} {
		before := entryOf(t, admin, opts, key)
		_, err := c.Inspect(t.Context(), key)
		is(t, "Inspect "+key, err, distlock.ErrForeign)
		is(t, "Break "+key, c.Break(t.Context(), key, distlock.Token(before.ModifyIndex)), distlock.ErrForeign)
		if after := entryOf(t, admin, opts, key); after == nil || after.ModifyIndex != before.ModifyIndex {
			t.Errorf("%s: got %+v, was %+v", key, after, before)
		}
	}
	_, err = c.TryAcquire(t.Context(), "put")
	is(t, "TryAcquire", err, distlock.ErrForeign)
}

// With a lock-delay the key is Consul's to keep, and Inspect shows nobody's; also
// where the breaker dies before it has ended its session.
func TestBreakWithADelay(t *testing.T) {
	t.Parallel()
	const delay = 2 * time.Second
	for name, dies := range map[string]bool{"as usual": false, "the breaker dies": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin, opts := connect(t), options()
			l := acquire(t, locks(t, consullock.New(connect(t), opts), distlock.WithTTL(time.Minute)), "k")
			breaker := locks(t, consullock.New(connect(t, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				if dies && strings.Contains(r.URL.Path, "/session/destroy/") {
					return nil, errors.New("dead")
				}
				return next.RoundTrip(r)
			})), opts), distlock.WithLockDelay(delay))
			begun := time.Now()
			is(t, "Break", breaker.Break(t.Context(), "k", l.Token()), nil)
			looker := locks(t, consullock.New(connect(t), opts))
			entry := entryOf(t, admin, opts, "k")
			if since := time.Since(begun); since < minTTL && (entry != nil) != dies {
				t.Errorf("after %v there is %v under the key", since, entry)
			}
			if got, err := looker.Inspect(t.Context(), "k"); err != nil || got != (distlock.LockInfo{Left: -1, Waiters: -1}) {
				t.Errorf("Inspect within the lock-delay: got %+v, %v", got, err)
			}
			is(t, "CheckSequencer", looker.CheckSequencer(t.Context(), l.Sequencer()), distlock.ErrStale)
			is(t, "Break again", breaker.Break(t.Context(), "k", l.Token()), distlock.ErrStale)
			if write(t, admin, opts.Prefix+"=resource", l) {
				t.Error("a holder wrote whose lock was broken")
			}
			next := acquire(t, looker, "k")
			if since := time.Since(begun); since < delay {
				t.Errorf("granted after %v, the lock-delay is %v", since, delay)
			} else {
				t.Logf("granted after %v", since)
			}
			is(t, "Release of a broken lock", l.Release(t.Context()), distlock.ErrLost)
			release(t, next)
		})
	}
}

// On a cluster each server gives the same answer, and none that is older than the call.
func TestSequencersOnEachServer(t *testing.T) {
	t.Parallel()
	opts := options()
	var on []*distlock.Client
	for _, addr := range addresses(t, "DISTLOCK_TEST_CONSUL_TRIO") {
		on = append(on, locks(t, consullock.New(dial(t, addr), opts)))
	}
	for range 5 {
		l := acquire(t, on[0], "k")
		for _, c := range on {
			is(t, "CheckSequencer of a grant", c.CheckSequencer(t.Context(), l.Sequencer()), nil)
		}
		release(t, l)
		for _, c := range on {
			is(t, "CheckSequencer after the release", c.CheckSequencer(t.Context(), l.Sequencer()), distlock.ErrStale)
		}
	}
}
