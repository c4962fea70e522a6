package postgres_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// shown returns what another client is told of key.
func (b *bed) shown(key string) (distlock.LockInfo, error) {
	return client(b.t, b.pool, b.opts).Inspect(within(b.t, patience), key)
}

// A lock of another program's is not taken for the last grant's, whose token the row
// has still, whether it is a transaction's or a session's.
func TestInspectOfAnotherProgramsLock(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(time.Hour))
	l := b.acquire("k")
	is(t, "Release", l.Release(t.Context()))
	for what, sql := range map[string]string{
		"a transaction's": "BEGIN; SELECT pg_advisory_xact_lock($1)", "a session's": "SELECT pg_advisory_lock($1)",
		"a session's, shared": "SELECT pg_advisory_lock_shared($1)",
	} {
		conn, err := pgx.ConnectConfig(t.Context(), b.pool.Config().ConnConfig)
		is(t, "connect", err)
		_, err = conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol, pglock.ID(b.opts.Namespace, "k"))
		is(t, what, err)
		info, err := b.shown("k")
		is(t, "Inspect of "+what, err, distlock.ErrForeign)
		if info != (distlock.LockInfo{}) {
			t.Errorf("%s: got %+v", what, info)
		}
		is(t, "CheckSequencer of "+what, b.client.CheckSequencer(within(t, patience), l.Sequencer()), distlock.ErrForeign)
		is(t, "Break of "+what, b.client.Break(within(t, patience), "k", l.Token()), distlock.ErrForeign)
		if !b.held("k") {
			t.Errorf("%s: it is gone", what)
		}
		is(t, "close", conn.Close(t.Context()))
		b.free("k")
	}
	is(t, "Release", b.acquire("k").Release(t.Context()))
}

// While a grant has the lock and not its token yet, the token of the one before is
// not shown; nor where the same connection had that.
func TestInspectWithinAGrant(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(time.Hour))
	old := b.acquire("k")
	is(t, "Release", old.Release(t.Context()))
	tx := b.block("k")
	got := make(chan *distlock.Lease, 1)
	go func() { got <- b.acquire("k") }()
	eventually(t, "the attempt holds the lock", func() bool { return b.held("k") })
	other := client(t, b.pool, b.opts)
	is(t, "CheckSequencer within a grant", other.CheckSequencer(within(t, 2*time.Second), old.Sequencer()), context.DeadlineExceeded)
	is(t, "rollback", tx.Rollback(t.Context()))
	l := <-got
	is(t, "CheckSequencer", other.CheckSequencer(within(t, patience), old.Sequencer()), distlock.ErrStale)
	is(t, "CheckSequencer", other.CheckSequencer(within(t, patience), l.Sequencer()))
	is(t, "Release", l.Release(t.Context()))
}

// A client that lives lets go of the one lock, and keeps its others.
func TestBreakLeavesTheOtherLeases(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(6*time.Second), distlock.WithLockDelay(time.Minute))
	l, other := b.acquire("k"), b.acquire("other")
	stale := b.acquire("again")
	is(t, "Release", stale.Release(t.Context()))
	again := b.acquire("again")
	breaker := client(t, b.pool, b.opts)
	is(t, "Break", breaker.Break(within(t, patience), "k", l.Token()))
	is(t, "the lease", l.Err(), distlock.ErrLost)
	is(t, "Release", l.Release(t.Context()), distlock.ErrLost)
	next, err := breaker.TryAcquire(within(t, patience), "k") // it owes no lock-delay: that is who breaks it
	is(t, "TryAcquire", err)
	if err == nil && next.Token() <= l.Token() {
		t.Errorf("token %v after %v", next.Token(), l.Token())
	}
	is(t, "Break of the grant before", breaker.Break(within(t, patience), "again", stale.Token()), distlock.ErrStale)
	is(t, "another lease", other.Err())
	is(t, "another lease", again.Err())
}

// A client that is frozen does not let go: its connection is ended.
func TestBreakOfAFrozenHolder(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var link *locktest.Proxy
	frozen := connectTo(t, serverURL(t, "DISTLOCK_TEST_POSTGRES"), func(c *pgxpool.Config) {
		cc := c.ConnConfig
		link = locktest.NewProxy(t, net.JoinHostPort(cc.Host, strconv.Itoa(int(cc.Port))))
		host, port, _ := net.SplitHostPort(link.Addr())
		n, _ := strconv.Atoi(port)
		cc.Host, cc.Port, cc.Fallbacks = host, uint16(n), nil
	})
	l, err := client(t, frozen, b.opts, distlock.WithTTL(time.Hour)).Acquire(within(t, patience), "k")
	is(t, "Acquire", err)
	link.Swallow()
	defer link.Restore()
	begun := time.Now()
	breaker := client(t, b.pool, b.opts, distlock.WithLockDelay(2*time.Second))
	is(t, "Break", breaker.Break(within(t, 2*time.Minute), "k", l.Token()))
	if took := time.Since(begun); took < 10*time.Second {
		t.Errorf("the holder's connection was ended after %v", took)
	}
	if b.held("k") {
		t.Error("the lock is there still")
	}
	_, err = breaker.TryAcquire(within(t, patience), "k")
	is(t, "TryAcquire within the lock-delay", err, distlock.ErrHeld)
}

// A Break that was cut short can be made again, and its lock-delay runs.
func TestBreakThatWasCutShort(t *testing.T) {
	t.Parallel()
	const delay = 2 * time.Second
	b := newBed(t, distlock.WithTTL(9*time.Second))
	l := b.acquire("k")
	breaker := client(t, b.pool, b.opts, distlock.WithLockDelay(delay))
	ctx, die := context.WithCancel(t.Context())
	defer die()
	done := make(chan error, 1)
	go func() { done <- breaker.Break(ctx, "k", l.Token()) }()
	eventually(t, "it is asked for", func() (broken bool) {
		err := b.pool.QueryRow(t.Context(), "SELECT broken FROM "+b.table+" WHERE key = 'k'").Scan(&broken)
		return broken && err == nil
	})
	die()
	is(t, "Break", <-done, context.Canceled)
	is(t, "Break again", breaker.Break(within(t, 2*patience), "k", l.Token())) // rings again
	is(t, "the lease", l.Err(), distlock.ErrLost)
	_, err := client(t, b.pool, b.opts).TryAcquire(within(t, patience), "k")
	is(t, "TryAcquire", err, distlock.ErrHeld)
	begun := time.Now()
	b.acquire("k")
	if since := time.Since(begun); since > delay+patience {
		t.Errorf("granted after %v, the lock-delay is %v", since, delay)
	}
}
