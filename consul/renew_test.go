package consul_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
)

// Stands for: "no leader", said of a moment in an election, was taken for the end
// of the session, and a lock was given up that nobody else could have.
func TestAServerErrorIsNoLoss(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	var failing atomic.Bool
	var failed atomic.Int64
	election := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if failing.Load() && strings.Contains(r.URL.Path, "/session/renew/") {
			failed.Add(1)
			return &http.Response{
				StatusCode: http.StatusInternalServerError, Header: http.Header{}, Request: r,
				Body: io.NopCloser(strings.NewReader("No cluster leader")),
			}, nil
		}
		return next.RoundTrip(r)
	}
	c := locks(t, consullock.New(connect(t, through(election)), options()), distlock.WithTTL(ttl))
	l := acquire(t, c, "k")
	before := l.Deadline()
	failing.Store(true)
	eventually(t, "two renewals fail", func() bool { return failed.Load() >= 2 })
	failing.Store(false)
	eventually(t, "it is renewed", func() bool { return l.Deadline().After(before) || !l.Valid() })
	if err := l.Err(); err != nil {
		t.Errorf("got %v, want a lease that goes on", err)
	}
	release(t, l)
}
