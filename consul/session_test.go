package consul_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

// open opens a session on b, closed at the end.
func open(t testing.TB, b distlock.Backend, asked distlock.Terms) (distlock.Session, distlock.Terms) {
	t.Helper()
	terms, err := b.Check(asked)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Open(within(t, 10*time.Second), terms)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s.Close(ctx)
	})
	return s, terms
}

var long = distlock.Terms{TTL: time.Minute}

// grant gets a key for a new owner.
func grant(t testing.TB, s distlock.Session, key string) distlock.Hold {
	t.Helper()
	h, err := s.TryAcquire(within(t, 10*time.Second), distlock.Request{Key: key, Owner: distlock.NewOwner(), Terms: long, Holder: "me"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// entryOf returns what is in the store of key.
func entryOf(t testing.TB, c *api.Client, o *consullock.Options, key string) *api.KVPair {
	t.Helper()
	entry, err := get(within(t, 10*time.Second), c, consullock.EntryName(o.Prefix, key))
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// Stands for: a lock-delay of 0 that became 15 s, and a node's gossip that ended
// sessions whose holders were well.
func TestSessionLivesByItsTermsAlone(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	for name, c := range map[string]struct {
		delay, want time.Duration
	}{
		"unset": {distlock.UnsetLockDelay, 15 * time.Second},
		"off":   {0, 0},
		"short": {1500 * time.Millisecond, 1500 * time.Millisecond},
		"long":  {time.Minute, time.Minute},
	} {
		s, _ := open(t, consullock.New(connect(t), opts), distlock.Terms{TTL: 90 * time.Second, LockDelay: c.delay})
		h := grant(t, s, name)
		info, _, err := admin.Session().Info(entryOf(t, admin, opts, name).Session, nil)
		if err != nil || info == nil {
			t.Fatalf("%s: got %v, %v from the server", name, info, err)
		}
		if info.LockDelay != c.want || info.TTL != "1m30s" || info.Behavior != "delete" ||
			len(info.NodeChecks)+len(info.ServiceChecks)+len(info.Checks) > 0 {
			t.Errorf("%s: got %+v", name, info)
		}
		if err := s.Release(t.Context(), h); err != nil {
			t.Error(err)
		}
	}
}

func TestEntryTellsOfTheHolderAndGoesWithTheLock(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	c := locks(t, consullock.New(connect(t), opts), distlock.WithHolder("host 7"))
	l := acquire(t, c, "k")
	entry := entryOf(t, admin, opts, "k")
	if entry == nil || entry.ModifyIndex != uint64(l.Token()) || !strings.HasSuffix(string(entry.Value), " host 7") {
		t.Errorf("got %+v for token %v", entry, l.Token())
	}
	release(t, l)
	if entry := entryOf(t, admin, opts, "k"); entry != nil {
		t.Errorf("got %+v after the release, want nothing", entry)
	}
}

func TestEntryOfOthersIsLeftAlone(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	if _, err := admin.KV().Put(&api.KVPair{Key: opts.Prefix + "k", Value: []byte("theirs")}, nil); err != nil {
		t.Fatal(err)
	}
	c := locks(t, consullock.New(connect(t), opts))
	l, err := c.Acquire(within(t, 10*time.Second), "k")
	if err == nil || isHeld(err) || l != nil || !strings.Contains(err.Error(), "no lock") {
		t.Errorf("got %v, %v, want an error that tells what is there", l, err)
	}
	if entry := entryOf(t, admin, opts, "k"); entry == nil || string(entry.Value) != "theirs" {
		t.Errorf("got %+v, want what was there before", entry)
	}
}

// Whoever writes to a lock's entry moves its index, which ends what the token
// is good for, but must not keep the key for ever.
func TestReleaseFreesAnEntryThatSomebodyHasChanged(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	s, _ := open(t, consullock.New(connect(t), opts), long)
	h := grant(t, s, "k")
	if _, err := admin.KV().Put(&api.KVPair{Key: opts.Prefix + "k", Value: []byte("x")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), h); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if entry := entryOf(t, admin, opts, "k"); entry != nil {
		t.Errorf("got %+v after the release, want nothing", entry)
	}
}

// A recorder keeps copies of transactions, to send them again later: what a
// network and an agent without a leader do.
type recorder struct {
	mu    sync.Mutex // guards all below
	again []func() (int, error)
}

func (r *recorder) trip(next http.RoundTripper, q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/txn") {
		body, err := q.GetBody()
		if err != nil {
			return nil, err
		}
		c := q.Clone(context.Background())
		c.Body = body
		r.mu.Lock()
		r.again = append(r.again, func() (int, error) {
			resp, err := next.RoundTrip(c)
			if err != nil {
				return 0, err
			}
			return resp.StatusCode, resp.Body.Close()
		})
		r.mu.Unlock()
	}
	return next.RoundTrip(q)
}

// first sends the first transaction again.
func (r *recorder) first(t testing.TB) (status int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	status, err := r.again[0]()
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// recorded is a session whose first transaction can be sent again.
func recorded(t testing.TB, o *consullock.Options) (distlock.Session, *recorder) {
	r := &recorder{}
	s, _ := open(t, consullock.New(connect(t, through(r.trip)), o), long)
	return s, r
}

// Stands for: Consul lets a session lock again what it has locked, so a copy of
// an old request takes the lock from under the next owner of the same session.
func TestLateCopyOfARequestTakesNothingFromTheNextOwner(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	s, r := recorded(t, opts)
	if err := s.Release(t.Context(), grant(t, s, "k")); err != nil {
		t.Fatal(err)
	}
	next := grant(t, s, "k")
	if got := r.first(t); got != http.StatusConflict {
		t.Errorf("got status %d for the copy, want a conflict", got)
	}
	if entry := entryOf(t, admin, opts, "k"); entry == nil || entry.ModifyIndex != uint64(next.Token) {
		t.Errorf("got %+v, want what the next owner wrote at %v", entry, next.Token)
	}
	if err := s.Release(t.Context(), next); err != nil {
		t.Error(err)
	}
}

func TestLateCopyThatLocksForNobodyIsClearedAway(t *testing.T) {
	t.Parallel()
	opts := options()
	s, r := recorded(t, opts)
	old := grant(t, s, "k")
	if err := s.Release(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if got := r.first(t); got != http.StatusOK {
		t.Fatalf("got status %d for the copy, want that it locks", got)
	}
	var next distlock.Hold
	eventually(t, "the session gets its key", func() (ok bool) {
		var err error
		next, err = s.TryAcquire(t.Context(), distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: long})
		return err == nil
	})
	if next.Token <= old.Token {
		t.Errorf("got token %v after %v", next.Token, old.Token)
	}
	if err := s.Release(t.Context(), next); err != nil {
		t.Error(err)
	}
}

func TestReleaseOfUnknownFindsALateCopy(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	s, r := recorded(t, opts)
	old := grant(t, s, "k")
	if err := s.Release(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	r.first(t)
	old.State, old.Token = nil, 0 // as the core asks again after an outcome that was unknown
	if err := s.Release(t.Context(), old); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if entry := entryOf(t, admin, opts, "k"); entry != nil {
		t.Errorf("got %+v, want nothing", entry)
	}
}

func TestARequestThatIsSentTwiceAtOnceIsGrantedOnce(t *testing.T) {
	t.Parallel()
	opts := options()
	twice := func(next http.RoundTripper, q *http.Request) (*http.Response, error) {
		if strings.HasSuffix(q.URL.Path, "/txn") {
			c := q.Clone(q.Context())
			c.Body, _ = q.GetBody()
			resp, err := next.RoundTrip(c)
			if err != nil {
				return nil, err
			}
			resp.Body.Close()
		}
		return next.RoundTrip(q)
	}
	s, _ := open(t, consullock.New(connect(t, through(twice)), opts), long)
	h := grant(t, s, "k")
	if entry := entryOf(t, connect(t), opts, "k"); entry == nil || entry.ModifyIndex != uint64(h.Token) {
		t.Errorf("got token %v, the entry is %+v", h.Token, entry)
	}
}

// A refusal that finds the entry of another attempt of its own session, one that was
// answered between the two requests, leaves it alone.
func TestAttemptsOfOneSessionThatOverlap(t *testing.T) {
	t.Parallel()
	o := options()
	a, b := locks(t, consullock.New(connect(t), o)), locks(t, consullock.New(connect(t), o))
	for i := range 50 {
		key := fmt.Sprint("k", i)
		var tries sync.WaitGroup
		leases := make([]*distlock.Lease, 3)
		for j := range leases {
			tries.Go(func() { leases[j], _ = a.TryAcquire(within(t, 10*time.Second), key) })
		}
		tries.Wait()
		other, err := b.TryAcquire(within(t, 10*time.Second), key)
		if err == nil && slices.ContainsFunc(leases, func(l *distlock.Lease) bool { return l != nil }) {
			t.Fatalf("%v beside %v", other, leases)
		}
	}
}
