package consul_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

func TestClientsConfigurationGoesWithEveryRequest(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := make(map[string]string) // what came with a request, by its kind
	note := func(next http.RoundTripper, q *http.Request) (*http.Response, error) {
		values := q.URL.Query()
		kind := q.Method
		for _, path := range []string{"/v1/txn", "/v1/kv/", "/v1/session/create", "/v1/session/renew/", "/v1/session/destroy/"} {
			if strings.HasPrefix(q.URL.Path, path) {
				kind = path
			}
		}
		mu.Lock()
		seen[kind] = fmt.Sprint(values["dc"], values["ns"], values["partition"], q.Header["X-Consul-Token"], q.Header["X-Own"])
		mu.Unlock()
		values.Del("ns") // the server has no namespaces and refuses these
		values.Del("partition")
		q = q.Clone(q.Context())
		q.URL.RawQuery = values.Encode()
		return next.RoundTrip(q)
	}
	set := func(c *api.Config) {
		c.Datacenter, c.Namespace, c.Partition, c.Token = "dc1", "team", "part", "secret"
	}
	consul := connect(t, set, through(note))
	consul.AddHeader("X-Own", "1")
	b := consullock.New(consul, options())
	if err := b.Ping(within(t, 10*time.Second)); err != nil { // all but these two
		t.Fatal(err)
	}
	s, _ := open(t, b, long)
	if _, err := s.(distlock.Keeper).KeepAlive(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	woken := make(chan struct{}, 10)
	s.(distlock.Waker).Watch("k", func() { woken <- struct{}{} })
	<-woken
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 5 {
		t.Errorf("got requests of kinds %v, want five known ones", seen)
	}
	for kind, got := range seen {
		if want := "[dc1] [team] [part] [secret] [1]"; got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
}

func TestPingTellsOfATTLThatTheServersRefuse(t *testing.T) {
	t.Parallel()
	o := options()
	o.MinTTL /= 2
	b := consullock.New(connect(t), o)
	if err := b.Ping(within(t, 10*time.Second)); err == nil || !strings.Contains(err.Error(), "TTL") {
		t.Errorf("got %v, want what the server says of the TTL", err)
	}
	c := locks(t, b, distlock.WithTTL(o.MinTTL))
	if l, err := c.TryAcquire(within(t, 10*time.Second), "k"); err == nil || !strings.Contains(err.Error(), "TTL") {
		t.Errorf("got %v, %v, want what the server says of the TTL", l, err)
	}
}

// Who knows a session's id can free its locks, and who knows an owner's can take
// its place: neither belongs in an error.
func TestErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	var id string
	var down bool
	o := options()
	admin := connect(t)
	s, terms := open(t, consullock.New(connect(t, through(func(next http.RoundTripper, q *http.Request) (*http.Response, error) {
		if down {
			return nil, fmt.Errorf("no route to host")
		}
		return next.RoundTrip(q)
	})), o), long)
	h := grant(t, s, "k")
	id = entryOf(t, admin, o, "k").Session
	down = true
	_, renew := s.(distlock.Keeper).KeepAlive(t.Context(), 0)
	_, try := s.TryAcquire(t.Context(), distlock.Request{Key: "k2", Owner: distlock.NewOwner(), Terms: terms})
	errs := []error{renew, try, s.Release(t.Context(), h), s.Close(t.Context())}
	down = false
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, gone := s.TryAcquire(t.Context(), distlock.Request{Key: "k3", Owner: distlock.NewOwner(), Terms: terms})
	_, renew = s.(distlock.Keeper).KeepAlive(t.Context(), 0)
	for _, err := range append(errs, gone, renew) {
		if err == nil || strings.Contains(err.Error(), id) || strings.Contains(err.Error(), h.Owner.Text()) {
			t.Errorf("got %v, want an error without the session's id and the owner's", err)
		}
	}
	if !isLost(gone) || !isLost(renew) {
		t.Errorf("got %v, %v of a session that is gone, want ErrLost", gone, renew)
	}
}
