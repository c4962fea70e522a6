package servers_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

func TestClockOfAServerInGoIsShifted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec servers.Spec
		path string
	}{{servers.Etcd, "/version"}, {servers.Consul, "/v1/status/leader"}} {
		t.Run(c.spec.Name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, c.spec.WithClock())
			expect := func(want time.Duration) {
				t.Helper()
				if got := headerAhead(t, "http://"+s.Addr()+c.path); got < want-time.Minute || got > want+time.Minute {
					t.Errorf("the server's clock is %v ahead, want %v", got, want)
				}
			}
			expect(0)
			for _, d := range []time.Duration{time.Hour, -2 * time.Hour, 0, 3 * time.Second, time.Hour} {
				servers.Do(t, func(ctx context.Context) error { return s.ShiftClock(ctx, d) })
				expect(d)
			}
			servers.Do(t, s.Kill, s.Start)
			expect(0)
			servers.Do(t, func(ctx context.Context) error { return s.ShiftClock(ctx, time.Hour) })
			expect(time.Hour)
		})
	}
}

// headerAhead tells how far the clock of the server at url is ahead of this host's.
func headerAhead(t *testing.T, url string) time.Duration {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	date, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(date)
}
