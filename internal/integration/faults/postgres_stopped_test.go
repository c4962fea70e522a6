package faults_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: a holder that was stopped kept its lock for hours, or goes on beside the
// next one. The server throws it out, and it knows at its first instruction.
func TestDatabaseThrowsOutAStoppedHolder(t *testing.T) {
	t.Parallel()
	s := healthyDatabase(t)
	admin := pgPool(t, s.Addr(), 1)
	for i := range 3 { // stopped at other points of the renewal
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			key := t.Name()
			cmd, lines := startHolder(t, servers.PostgresURL(s.Addr()), key)
			held := readAwakening(t, lines)
			pause(heldTTL/2 + time.Duration(i)*heldTTL/9) // it has been renewed meanwhile
			signal(t, cmd, syscall.SIGSTOP)
			begin := time.Now()
			next := acquire(t, pgLocks(t, s.Addr()), key)
			free := time.Since(begin)
			pause(2*heldTTL - free)
			signal(t, cmd, syscall.SIGCONT)
			seen := readAwakening(t, lines)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			t.Logf("free after %v; %+v", free, seen)
			if seen.Valid || seen.Context == "" || !seen.Lost || seen.Release == "" {
				t.Errorf("got %+v, want a lease that is lost and a context that has ended", seen)
			}
			checkFence(t, key, held.Token, next.Token())
			if n := pgHolders(t, admin, key); n != 1 || !next.Valid() {
				t.Error("the old holder took the next one's lock along")
			}
			release(t, next)
		})
	}
}

// Stands for: the lock of a client that was killed, and whose machine went down with it,
// stays until the server's TCP has given up.
func TestVanishedClientBlocksForOneTTL(t *testing.T) {
	t.Parallel()
	s := healthyDatabase(t)
	link := s.Proxy(t)
	cmd, lines := startHolder(t, servers.PostgresURL(link.Addr()), t.Name())
	held := readAwakening(t, lines)
	link.Set(proxy.Swallow, proxy.Swallow) // not even the end of its connection gets through
	signal(t, cmd, syscall.SIGKILL)
	begin := time.Now()
	next := acquire(t, pgLocks(t, s.Addr()), t.Name())
	free := time.Since(begin)
	if t.Logf("free after %v", free); free > 5*heldTTL {
		t.Errorf("free after %v, its TTL is %v", free, heldTTL)
	}
	checkFence(t, t.Name(), held.Token, next.Token())
	release(t, next)
}
