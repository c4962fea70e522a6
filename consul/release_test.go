package consul_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
)

// Only a request that may have reached a server can have released what is found
// gone later. Here an operator has deleted it.
func TestUnsentReleaseReleasesNothing(t *testing.T) {
	t.Parallel()
	type passes struct{}
	gate := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/txn") && r.Context().Value(passes{}) == nil {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}
		return next.RoundTrip(r)
	}
	admin, opts := connect(t), options()
	tried := make(chan struct{}, 1000)
	c := locks(t, consullock.New(connect(t, through(gate)), opts),
		distlock.WithTrace(&distlock.Trace{CleanedUp: func(distlock.CleanupInfo) { tried <- struct{}{} }}))
	open := context.WithValue(within(t, time.Minute), passes{}, true)
	l, err := c.Acquire(open, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err == nil || isLost(err) {
		t.Fatalf("got %v from a Release that was not sent", err)
	}
	if _, err := admin.KV().Delete(consullock.EntryName(opts.Prefix, "k"), nil); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		<-tried // by the client, behind the call; the next time in half a second
	}
	if err := l.Release(open); !isLost(err) {
		t.Errorf("got %v, want ErrLost", err)
	}
}
