package consul_test

import (
	"encoding/json"
	"fmt"
	"io"
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

// looks counts the renewals of a client, the requests that look for its entries, and
// the entries that were looked for.
type looks struct {
	mu       sync.Mutex // guards all below
	renewals int
	requests int
	found    map[string]int
	refuse   string // reads of this key are forbidden
	refused  int
}

func (l *looks) trip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case strings.Contains(r.URL.Path, "/session/renew/"):
		l.renewals++
	case strings.HasSuffix(r.URL.Path, "/txn"):
		l.note(r)
	case l.refuse != "" && strings.HasSuffix(r.URL.Path, l.refuse):
		l.refused++
		return &http.Response{
			StatusCode: http.StatusForbidden, Body: io.NopCloser(strings.NewReader("no")), Header: make(http.Header), Request: r,
		}, nil
	}
	return next.RoundTrip(r)
}

// note takes down a transaction that does nothing but check indexes. l.mu is held.
func (l *looks) note(r *http.Request) {
	body, err := r.GetBody()
	if err != nil {
		return
	}
	var ops []struct{ KV *api.KVTxnOp }
	if json.NewDecoder(body).Decode(&ops) != nil {
		return
	}
	for _, op := range ops {
		if op.KV.Verb != api.KVCheckIndex {
			return
		}
	}
	l.requests++
	for _, op := range ops {
		l.found[op.KV.Key]++
	}
}

// seen returns the counts. All says that each of keys was looked for n times.
func (l *looks) seen(n int, keys []string) (renewals, requests int, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all = true
	for _, key := range keys {
		all = all && l.found[key] >= n
	}
	return l.renewals, l.requests, all
}

// looking returns a client that holds n keys, with its counts from then on.
func looking(t *testing.T, n int) (l *looks, names []string, leases []*distlock.Lease, admin *api.Client) {
	t.Helper()
	l, opts := &looks{found: make(map[string]int)}, options()
	c := locks(t, consullock.New(connect(t, through(l.trip)), opts), distlock.WithTTL(3*time.Second))
	for i := range n {
		key := fmt.Sprint("k", i)
		names = append(names, opts.Prefix+key)
		leases = append(leases, acquire(t, c, key))
	}
	l.mu.Lock()
	l.renewals, l.requests = 0, 0
	clear(l.found)
	l.mu.Unlock()
	return l, names, leases, connect(t)
}

// Stands for: a request for each 64 leases behind each renewal; or a look that finds the
// same ones each time.
func TestLooksCostARequestForThreeRenewals(t *testing.T) {
	t.Parallel()
	l, names, _, _ := looking(t, 150)
	var renewals, requests int
	eventually(t, "each entry is looked for", func() (all bool) {
		renewals, requests, all = l.seen(1, names)
		return all
	})
	if most := renewals/3 + 1; requests > most { // one was allowed before they were counted
		t.Errorf("got %d looks behind %d renewals, want %d at most", requests, renewals, most)
	}
	if requests > 3 { // 64 entries at a time
		t.Errorf("%d looks have found each of %d entries, want 3", requests, len(names))
	}
}

func TestAFewLeasesAreLookedForBehindEachRenewal(t *testing.T) {
	t.Parallel()
	l, names, _, _ := looking(t, 22)
	var renewals, requests int
	eventually(t, "four looks", func() bool {
		renewals, requests, _ = l.seen(4, names)
		return requests >= 4
	})
	if renewals > requests+1 { // one had not been answered
		t.Errorf("got %d looks behind %d renewals, want one behind each", requests, renewals)
	}
}

// Stands for: a holder that is never told since there are always others to look for; or
// one that is told of a loss where somebody has but written to its entry.
func TestADeletedEntryIsFoundAmongMany(t *testing.T) {
	t.Parallel()
	l, names, leases, admin := looking(t, 100)
	if _, err := admin.KV().Delete(names[7], nil); err != nil {
		t.Fatal(err)
	}
	entry, err := get(t.Context(), admin, names[70])
	if err != nil {
		t.Fatal(err)
	}
	entry.Flags = 1 // what was changed is still the session's
	if _, err := admin.KV().Put(entry, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the holder is told", func() bool { return isLost(leases[7].Err()) })
	eventually(t, "the other is looked for twice", func() bool {
		_, _, all := l.seen(2, names[70:71])
		return all
	})
	for i, lease := range leases {
		if i != 7 {
			is(t, fmt.Sprint("lease ", i), lease.Err(), nil)
		}
	}
	release(t, leases[70])
	if entry, err := get(t.Context(), admin, names[70]); entry != nil || err != nil {
		t.Errorf("left %+v, %v", entry, err)
	}
}

// Stands for: an entry that cannot be read, and with it all that are looked for later.
func TestAnEntryThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	l, names, leases, admin := looking(t, 100)
	l.mu.Lock()
	l.refuse = names[0]
	l.mu.Unlock()
	if _, err := admin.KV().Put(&api.KVPair{Key: names[0], Value: []byte("another index")}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is asked for", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.refused > 0
	})
	for _, name := range names[1:] {
		if _, err := admin.KV().Delete(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all others are told of their deletion", func() bool {
		return !slices.ContainsFunc(leases[1:], func(l *distlock.Lease) bool { return !isLost(l.Err()) })
	})
	if err := leases[0].Err(); err != nil {
		t.Errorf("the lease that nobody has touched ended: %v", err)
	}
}
