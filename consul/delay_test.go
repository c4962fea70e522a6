package consul_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
)

// poll is the longest pause of a waiter.
const poll = time.Second

// slack is what a busy machine may add.
const slack = 2 * time.Second

// Stands for: nobody could say how long a dead holder keeps its key, as a
// lock-delay of 0 meant 15 s and the TTL counted twice.
func TestADeadHoldersKeyIsFreeInTheTimeThatIsDocumented(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"off": 0, "short": time.Second, "unset": distlock.UnsetLockDelay} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = time.Second
			opts := options()
			dead, terms := open(t, consullock.New(connect(t), opts), distlock.Terms{TTL: ttl, LockDelay: delay})
			next := locks(t, consullock.New(connect(t), opts))
			start := time.Now() // a session that nobody renews is all that a dead process leaves
			if _, err := dead.(distlock.Keeper).KeepAlive(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			grant(t, dead, "k")
			l := acquire(t, next, "k")
			took := time.Since(start)
			if least := ttl + terms.LockDelay; took < least {
				t.Errorf("free after %v, want no less than %v", took, least)
			}
			if most := 2*ttl + terms.LockDelay + poll + slack; took > most {
				t.Errorf("free after %v, want no more than %v", took, most)
			}
			t.Logf("free after %v", took)
			release(t, l)
		})
	}
}

// A lock-delay is for holders that died: whoever closes its client has not.
func TestCloseOwesNoLockDelay(t *testing.T) {
	t.Parallel()
	opts := options()
	for range 3 {
		b := consullock.New(connect(t), opts)
		c, err := distlock.New(b) // 15 s
		if err != nil {
			t.Fatal(err)
		}
		s, _ := open(t, b, distlock.Terms{TTL: time.Minute, LockDelay: distlock.UnsetLockDelay})
		acquire(t, c, "client")
		grant(t, s, "session")
		if err := c.Close(within(t, 10*time.Second)); err != nil {
			t.Error(err)
		}
		if err := s.Close(within(t, 10*time.Second)); err != nil {
			t.Error(err)
		}
		next := locks(t, consullock.New(connect(t), opts))
		for _, key := range []string{"client", "session"} {
			l, err := next.TryAcquire(within(t, 10*time.Second), key)
			if err != nil {
				t.Fatalf("%s: got %v, want the key at once", key, err)
			}
			release(t, l)
		}
	}
}
