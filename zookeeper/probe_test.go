package zookeeper_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
)

// A probe's time counts once a later one, sent a tick after its answer, has come back.
func TestPulse(t *testing.T) {
	const s = time.Second
	p := zklock.NewPulse(2 * s)
	want := func(since time.Duration, known bool) {
		t.Helper()
		if got, ok := p.Last(); got != since || ok != known {
			t.Errorf("got %v, %v; want %v, %v", got, ok, since, known)
		}
	}
	want(0, false)
	p.Add(10*s, 11*s)
	want(0, false) // it may have reached a server that the leader hears nothing of
	p.Add(12*s, 12*s)
	want(0, false) // less than a tick after the answer
	p.Add(13*s, 13*s)
	want(10*s, true)
	p.Add(13500*time.Millisecond, 14*s)
	want(10*s, true)
	p.Add(15*s, 15*s)
	want(13*s, true) // 12 and 13, not 13.5
	p.Add(14*s, 16*s)
	want(13*s, true) // answers out of order bring nothing back
	p.Add(30*s, 30*s)
	want(15*s, true)
	if n := p.Open(); n != 1 {
		t.Errorf("%d probes are kept, want the last one", n)
	}
}

// A probe is confirmed a tick later, and not when the next one is due: so whenever a server
// fails, there is time to reach another.
func TestRenewalLeavesMostOfTheTTL(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	s := newSpace(t)
	left := make(chan time.Duration, 100) // when the next renewal was answered
	c := s.client(s.backend(), distlock.WithTTL(ttl),
		distlock.WithTrace(&distlock.Trace{Renewed: func(i distlock.RenewInfo) { left <- i.Left }}))
	if _, err := c.Acquire(within(t, bound), "k"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		select {
		case d := <-left:
			if d < 5*ttl/12 { // it is 7/12, less a tick and a half; without probes ahead it is 4/12
				t.Errorf("%v of %v were left at a renewal", d, ttl)
			}
		case <-time.After(ttl):
			t.Fatal("no renewal within a TTL")
		}
	}
}
