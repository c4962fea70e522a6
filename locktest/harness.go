// Package locktest is the conformance suite of distlock backends. A backend
// that passes keeps the promises that distlock makes to its users, as far as
// they can be seen from outside.
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Harness{
//			Backend: func(t testing.TB) distlock.Backend { return mybackend.New(dial(t), nil) },
//			TTL:     time.Second,
//			Delete:  func(ctx context.Context, key string) error { … },
//			Without: map[string]string{"Restart": "the test server is shared"},
//		})
//	}
//
// The suite is a table of cases; each prints the rule it checks when it fails.
// Cases take real time, run side by side, and have a key each, so that they can
// share a server with other tests.
package locktest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// A Harness describes the backend under test. Backend and TTL are required.
// What else is left zero is a capability that the harness lacks: the cases that
// need it fail unless Without says why.
type Harness struct {
	// Backend returns a new Backend value over the service under test, with a
	// connection of its own that is closed when t ends. All values speak to
	// the same service and exclude each other.
	Backend func(t testing.TB) distlock.Backend
	// TTL is the shortest TTL to test with. Cases that wait for a lifetime to
	// pass use it; the others use a longer one, up to the larger of 12 s and
	// 3 × TTL.
	TTL time.Duration

	// Expiry is how long after its last renewal a crashed holder's key is free
	// at the latest, under TTL and without lock-delay. Default: 1.5 × TTL.
	Expiry time.Duration
	// HandOver is how soon a waiter of another client gets a released key in
	// most cases. Default: 500 ms, which is less than a poll interval; a
	// backend that can wake nobody needs 1500 ms.
	HandOver time.Duration
	// Reconnect is how long the backend's client may take to be of use again
	// once a cut connection can be made anew. Default: 0.
	Reconnect time.Duration

	// LockDelay is the lock-delay to test with.
	LockDelay time.Duration
	// Delete removes the lock of key from the service behind the library's
	// back, so that the key is free.
	Delete func(ctx context.Context, key string) error
	// Expel ends, on the service, the session that holds key. Only backends
	// whose grants live by a session need it.
	Expel func(ctx context.Context, key string) error
	// DeleteCounter removes whatever the service keeps of the tokens of key
	// besides the lock.
	DeleteCounter func(ctx context.Context, key string) error
	// Foreign puts something under key that is none of the library's grants, where
	// the lock would be. Only backends that are Inspectors need it.
	Foreign func(ctx context.Context, key string) error
	// Link returns a Backend like Backend does, behind a network that can be
	// cut. See Proxy.
	Link func(t testing.TB) (distlock.Backend, Link)
	// Residue counts what the service keeps of key: holders and waiters, not
	// token counters and empty parents.
	Residue func(ctx context.Context, key string) (int, error)
	// Sessions counts the sessions, subscriptions or lock connections that the
	// service keeps for all clients of the suite. Services whose grants live
	// by themselves count their subscriptions.
	Sessions func(ctx context.Context) (int, error)
	// Restart restarts the service, keeps its data, and returns when it
	// answers again.
	Restart func(ctx context.Context) error

	// Without names what is left out, with the reason: a case by its name, or
	// all cases that need a capability by its field's name.
	Without map[string]string

	// Cancels is how many acquisitions are cancelled at random. Default: 300.
	Cancels int
	// Rounds is how often locks are taken in search of leaks. Default: 200.
	Rounds int
	// Parallel is how many cases run at a time, whatever -test.parallel says:
	// they mostly wait. Default: 16.
	Parallel int
}

// A Link is the network between one Backend and its service. Its methods
// return when the change is in force, and may be called in any order.
type Link interface {
	// Swallow lets nothing pass in either direction. Connections stay open,
	// new ones hang or fail.
	Swallow()
	// SwallowReplies lets requests pass and their replies not.
	SwallowReplies()
	// Restore lets everything pass again. What was swallowed is delivered
	// late, or the connections it was on are reset; nothing hangs for ever.
	Restore()
	// Reset cuts every connection. New ones can be made at once.
	Reset()
}

// capabilities are the optional fields, by name, and whether h has them.
func (h *Harness) capabilities() map[string]bool {
	return map[string]bool{
		"LockDelay":     h.LockDelay > 0,
		"Delete":        h.Delete != nil,
		"DeleteCounter": h.DeleteCounter != nil,
		"Expel":         h.Expel != nil,
		"Foreign":       h.Foreign != nil,
		"Link":          h.Link != nil,
		"Residue":       h.Residue != nil,
		"Sessions":      h.Sessions != nil,
		"Restart":       h.Restart != nil,
	}
}

// complete checks h and fills in the defaults.
func (h Harness) complete(cases []testCase) (Harness, error) {
	if h.Backend == nil || h.TTL <= 0 {
		return h, fmt.Errorf("locktest: Harness.Backend and Harness.TTL are required")
	}
	known := h.capabilities()
	for _, c := range cases {
		known[c.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(h.Without)) {
		if _, ok := known[name]; !ok {
			return h, fmt.Errorf("locktest: Harness.Without names %q, which is neither a case nor a capability", name)
		}
		if h.Without[name] == "" {
			return h, fmt.Errorf("locktest: Harness.Without gives no reason for %q", name)
		}
	}
	orElse(&h.Expiry, h.TTL*3/2)
	orElse(&h.HandOver, 500*time.Millisecond)
	orElse(&h.Cancels, 300)
	orElse(&h.Rounds, 200)
	orElse(&h.Parallel, 16)
	return h, nil
}

func orElse[T time.Duration | int](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
