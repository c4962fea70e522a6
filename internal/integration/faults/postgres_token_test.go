package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
	pglock "github.com/distlock-go/distlock/postgres"
)

// Stands for: a token from a sequence was handed out again after a crash, as nothing of
// it had reached the disk when it was returned.
//
// In each round a server process is killed with SIGKILL right after the grant, so that
// the others go down with it and the memory that they share is lost; in every tenth, all
// of the container.
func TestTokensGrowOverCrashes(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Postgres)
	locks, admin := pgLocks(t, s.Addr()), pgPool(t, s.Addr(), 1)
	var last distlock.Token
	for i := range 100 {
		var l *distlock.Lease
		eventually(t, bound, "the server has recovered", func() (ok bool) {
			var err error
			l, err = locks.TryAcquire(within(t, bound), "crash")
			return err == nil
		})
		if i%10 == 9 {
			servers.Do(t, s.Kill, s.Start)
		} else if _, err := admin.Exec(within(t, bound), "COPY (SELECT) TO PROGRAM 'kill -9 $PPID'"); err == nil {
			t.Fatal("the server process has survived")
		}
		if l.Token() <= last {
			t.Fatalf("round %d: token %v after %v", i, l.Token(), last)
		}
		last = l.Token()
		eventually(t, bound, "the holder is told", func() bool { return isClosed(l.Done()) })
	}
}

// The same, without the clock's help: the counter is far ahead of it.
func TestCounterGrowsOverCrashes(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Postgres)
	locks, pool := pgLocks(t, s.Addr()), pgPool(t, s.Addr(), 1)
	release(t, acquire(t, locks, "crash"))
	const far = int64(1) << 60
	pgScan[int64](t, pool, "UPDATE public.distlock_tokens SET token = $1 RETURNING token", far)
	for i := range 10 {
		l := acquire(t, locks, "crash")
		servers.Do(t, s.Kill, s.Start)
		if want := distlock.Token(far) + 1 + distlock.Token(i); l.Token() != want {
			t.Fatalf("round %d: token %v, want %v", i, l.Token(), want)
		}
	}
}

// farAhead puts the counter of key where no clock is, so that only what was replicated
// makes the next token larger.
func farAhead(t *testing.T, locks *distlock.Client, addr, key string) {
	t.Helper()
	release(t, acquire(t, locks, key))
	pgScan[int64](t, pgPool(t, addr, 1), "UPDATE public.distlock_tokens SET token = 1::bigint << 60 RETURNING token")
}

// A synchronous standby that takes over knows every token that was handed out. What was
// granted while it was cut off was handed to nobody.
func TestSynchronousStandbyTakesOver(t *testing.T) {
	t.Parallel()
	covers(t, "postgres", syncFailover)
	s := servers.Start(t, servers.StandbySpec{Sync: true})
	locks := pgLocks(t, s.Primary.Addr(), distlock.WithTTL(5*time.Second))
	farAhead(t, locks, s.Primary.Addr(), "sync")
	old := acquire(t, locks, "sync")
	s.Link.Set(proxy.Swallow, proxy.Swallow)
	if l, err := locks.TryAcquire(within(t, time.Second), "unconfirmed"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v without the standby (granted: %v), want no answer", err, l != nil)
	}
	servers.Do(t, s.Primary.Kill, s.Promote)
	after := pgLocks(t, s.Standby.Addr())
	// The lock itself is not replicated: the documented exception.
	next, err := after.TryAcquire(within(t, bound), "sync")
	if err != nil {
		t.Fatal(err)
	}
	checkFence(t, "sync", old.Token(), next.Token())
	eventually(t, bound, "the old holder is told", func() bool { return isClosed(old.Done()) })
	release(t, next)
	release(t, acquire(t, after, "unconfirmed"))
}

// An asynchronous one may not know the last tokens: that is why the level is best effort
// unless it is declared that there is none. The clock of the server makes up for it.
func TestAsynchronousStandbyTakesOver(t *testing.T) {
	t.Parallel()
	covers(t, "postgres", asyncFailover)
	s := servers.Start(t, servers.StandbySpec{})
	locks := pgLocks(t, s.Primary.Addr(), distlock.WithTTL(5*time.Second))
	release(t, acquire(t, locks, "clock"))
	release(t, acquire(t, locks, "ahead"))
	pgScan[int64](t, pgPool(t, s.Primary.Addr(), 1),
		"UPDATE public.distlock_tokens SET token = 1::bigint << 60 WHERE key = 'ahead' RETURNING token")
	standby := pgPool(t, s.Standby.Addr(), 1)
	eventually(t, bound, "the standby has the table", func() bool {
		return pgScan[int64](t, standby, "SELECT count(*) FROM pg_tables WHERE tablename = 'distlock_tokens'") == 1
	})
	eventually(t, bound, "the standby has the counters", func() bool {
		return pgScan[int64](t, standby, "SELECT max(token) FROM public.distlock_tokens") == 1<<60
	})
	s.Link.Set(proxy.Swallow, proxy.Swallow)
	clock, ahead := acquire(t, locks, "clock"), acquire(t, locks, "ahead")
	servers.Do(t, s.Primary.Kill, s.Promote)
	after := pgLocks(t, s.Standby.Addr())
	checkFence(t, "clock", clock.Token(), acquire(t, after, "clock").Token())
	if next := acquire(t, after, "ahead"); next.Token() != ahead.Token() {
		t.Errorf("got token %v after %v: what the documentation warns of does not show", next.Token(), ahead.Token())
	}
}

// Stands for: the wait for the standby is cancelled by an operator, the commit stands on
// the primary only, and the token is handed out all the same.
func TestUnconfirmedCommitIsNoGrant(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.StandbySpec{Sync: true})
	locks, admin := pgLocks(t, s.Primary.Addr()), pgPool(t, s.Primary.Addr(), 1)
	other := acquire(t, locks, "other")
	s.Link.Set(proxy.Swallow, proxy.Swallow)
	result := make(chan error, 1)
	go func() {
		_, err := locks.Acquire(within(t, bound), "k")
		result <- err
	}()
	eventually(t, bound, "the commit waits for the standby", func() bool {
		return pgScan[int](t, admin, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'") == 1
	})
	pgScan[bool](t, admin, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'")
	if err := <-result; err == nil || !strings.Contains(err.Error(), "synchronous replication") {
		t.Errorf("got %v, want an error that tells of the replication", err)
	}
	eventually(t, bound, "the connection is closed", func() bool { return isClosed(other.Done()) })
	eventually(t, bound, "nobody has the key", func() bool { return pgHolders(t, admin, "k") == 0 })
}

// A standby is refused: it cannot write tokens.
func TestStandbyIsRefused(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.StandbySpec{})
	err := pgLocks(t, s.Standby.Addr()).Ping(t.Context())
	if !errors.Is(err, distlock.ErrInvalid) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

// Tokens are durable only where the server writes them to the disk, whatever is declared.
func TestServerWithoutFsyncIsRefused(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Postgres.WithArgs("-c", "fsync=off", "-c", "max_connections=8"))
	if err := pgLocks(t, s.Addr()).Ping(t.Context()); !errors.Is(err, distlock.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
	// Undeclared it is served, until it takes no more connections, and then says so.
	b := pglock.New(pgPool(t, s.Addr(), 1), &pglock.Options{CreateTable: true})
	var err error
	for i := 0; err == nil && i < 9; i++ {
		var c *distlock.Client
		if c, err = distlock.New(b); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		_, err = c.TryAcquire(t.Context(), fmt.Sprint(i))
	}
	if err == nil || !strings.Contains(err.Error(), "connect outside the pool") || !strings.Contains(err.Error(), "53300") {
		t.Errorf("got %v, want that no connection is to be had", err)
	}
}
