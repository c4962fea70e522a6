package distlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

func TestDeathOfASession(t *testing.T) {
	for _, test := range []struct {
		name string
		die  func(v *vault)
		at   time.Duration // after the last renewal, at most
	}{
		{"word of it", func(v *vault) { v.sessions[1].lost(distlock.Owner{}, errNet) }, 0},
		{"renewal refused", func(v *vault) {
			v.set(func() { v.onKeepAlive = func(context.Context) error { return distlock.ErrLost } })
			time.AfterFunc(30*time.Second, func() { v.set(func() { v.onKeepAlive = nil }) })
		}, 10 * time.Second},
		{"no answer", func(v *vault) {
			v.set(func() { v.onKeepAlive = hang })
			time.AfterFunc(30*time.Second, func() { v.set(func() { v.onKeepAlive = nil }) })
		}, 30 * time.Second},
	} {
		for _, fair := range []bool{false, true} {
			name := test.name
			if fair {
				name += "/queue"
			}
			bubbleIn(t, name, func(t *testing.T) {
				v := newVault()
				v.fair = fair
				c, other := newClient(t, v), newClient(t, v, distlock.WithTTL(time.Hour))
				held := acquire(t, other, "held")
				a, b := acquire(t, c, "a"), acquire(t, c, "b")
				waiter := make(chan *distlock.Lease, 1)
				go func() { waiter <- acquire(t, c, "held") }()
				time.Sleep(time.Minute)
				start := time.Now()
				old := v.sessions[1]
				test.die(v)
				<-a.Done()
				if d := time.Since(start); d > test.at {
					t.Errorf("noticed after %v, want %v", d, test.at)
				}
				is(t, "Err", a.Err(), distlock.ErrLost)
				is(t, "Err", b.Err(), distlock.ErrLost)
				time.Sleep(time.Minute)
				is(t, "Release", held.Release(t.Context()), nil)
				l := <-waiter
				is(t, "Err of the waiter's lease", l.Err(), nil)
				if distlock.BackendState(l) == old {
					t.Error("granted on the dead session")
				}
				v.set(func() {
					if !old.closed {
						t.Error("the dead session was not ended")
					}
				})
				acquire(t, other, "a")
			})
		}
	}
}

func TestWordOfTheLossOfOneLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v)
		a, b := acquire(t, c, "a"), acquire(t, c, "b")
		s := v.open()[0]
		s.lost(v.grants["a"].owner, errNet)
		if !isOver(a.Done()) || !b.Valid() {
			t.Error("the word reached the wrong lease")
		}
		is(t, "Err", a.Err(), distlock.ErrLost, errNet)
		is(t, "Release", a.Release(t.Context()), distlock.ErrLost)
		s.lost(distlock.NewOwner(), errNet) // of nobody's
		is(t, "Release", b.Release(t.Context()), nil)
	})
}

// Word of a loss can overtake the grant's own answer.
func TestWordOfALossBeforeTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v)
		acquire(t, c, "other")
		v.set(func() {
			v.onAnswer = func(context.Context) error {
				v.mu.Lock()
				owner := v.grants["k"].owner
				v.mu.Unlock()
				v.sessions[0].lost(owner, errNet)
				return nil
			}
		})
		l, err := c.TryAcquire(t.Context(), "k")
		if err == nil || l != nil {
			t.Errorf("got %v, %v; want an error", l, err)
		}
		v.set(func() { v.onAnswer = nil })
		time.Sleep(time.Second)
		if held := v.held(); len(held) != 1 {
			t.Errorf("held: %v, want other alone", held)
		}
	})
}

// Past its deadline a session is not renewed, nor used, and is ended.
func TestDeadSessionIsNeverUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSleeper()
		v := newVault()
		c := newClient(t, v, distlock.WithClock(s.now))
		acquire(t, c, "k")
		time.Sleep(9 * time.Second)
		n := v.count("keepalive")
		s.suspend(time.Minute)
		acquire(t, c, "other")
		time.Sleep(time.Second)
		if v.count("keepalive") != n || len(v.open()) != 1 || v.count("open") != 2 {
			t.Errorf("renewed %d times, %d open of %d; want 0, 1 of 2", v.count("keepalive")-n, len(v.open()), v.count("open"))
		}
	})
}

// After the loss of a session its keys stay for the lock-delay.
func TestLockDelayOfASession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c, other := newClient(t, v, distlock.WithLockDelay(20*time.Second)), newClient(t, v)
		l := acquire(t, c, "k")
		v.set(func() { v.onKeepAlive = netDown })
		<-l.Done()
		v.set(func() { v.onKeepAlive = nil })
		lost := time.Now()
		acquire(t, other, "k")
		if d := time.Since(lost); d < 20*time.Second || d > 21*time.Second {
			t.Errorf("taken over %v after the loss, lock-delay is 20s", d)
		}
	})
}

// A session that the service does not know any more when it is asked for a key
// costs the call another session, and no error.
func TestSessionThatIsGoneWhenAKeyIsAskedFor(t *testing.T) {
	for _, wait := range []bool{false, true} {
		bubbleIn(t, map[bool]string{false: "TryAcquire", true: "Acquire"}[wait], func(t *testing.T) {
			v := newVault()
			c := newClient(t, v)
			other := acquire(t, c, "other")
			v.set(func() {
				v.onTry = func(context.Context) error {
					v.set(func() { v.onTry = nil })
					return distlock.ErrLost
				}
			})
			do := c.TryAcquire
			if wait {
				do = c.Acquire
			}
			l, err := do(t.Context(), "k")
			is(t, "acquire", err, nil)
			if err == nil && !l.Valid() {
				t.Error("not valid")
			}
			is(t, "Err of the other lease", other.Err(), distlock.ErrLost)
		})
	}
}

// A release without an answer whose session then ends is over with it.
func TestReleaseAgainAfterTheDeathOfItsSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v)
		l := acquire(t, c, "k")
		v.set(func() { v.onRelease = netDown })
		is(t, "Release without an answer", l.Release(t.Context()), errNet)
		v.open()[0].lost(distlock.Owner{}, errNet)
		is(t, "Release again", l.Release(t.Context()), distlock.ErrLost)
	})
}
