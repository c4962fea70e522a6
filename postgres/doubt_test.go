package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A bed is a table of a test's own with a client on it, to be tampered with.
type bed struct {
	t      *testing.T
	pool   *pgxpool.Pool
	opts   *pglock.Options
	table  string
	client *distlock.Client
}

func newBed(t *testing.T, opts ...distlock.Option) *bed {
	t.Helper()
	b := &bed{t: t, pool: connect(t)}
	b.opts = place(t, b.pool)
	b.table = pgx.Identifier{b.opts.Schema, b.opts.Table}.Sanitize()
	exec(t, b.pool, pglock.Schema(b.opts))
	b.client = client(t, b.pool, b.opts, opts...)
	return b
}

// trigger runs a PL/pgSQL statement for each row of key that is written.
func (b *bed) trigger(key, statement string) {
	b.t.Helper()
	f := pgx.Identifier{b.opts.Schema, "f"}.Sanitize()
	exec(b.t, b.pool, fmt.Sprintf(`CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN IF new.key = '%s' THEN %s; END IF; RETURN new; END $$;
		CREATE TRIGGER t BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s()`, f, key, statement, b.table, f))
}

func (b *bed) acquire(key string, opts ...distlock.Option) *distlock.Lease {
	b.t.Helper()
	l, err := b.client.Acquire(within(b.t, patience), key, opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// free fails the test unless nobody has key on the server, soon.
func (b *bed) free(key string) {
	b.t.Helper()
	eventually(b.t, key+" is free on the server", func() bool { return !b.held(key) })
}

func (b *bed) held(key string) bool {
	var n int
	err := b.pool.QueryRow(context.Background(), "SELECT count(*) FROM pg_locks WHERE "+isLock,
		pglock.ID(b.opts.Namespace, key)).Scan(&n)
	if err != nil {
		b.t.Error(err)
	}
	return n > 0
}

// block locks the counter of key in a transaction, which it returns. The
// attempt that comes next has the advisory lock, and waits.
func (b *bed) block(key string) pgx.Tx {
	b.t.Helper()
	tx := begin(b.t, b.pool, pgx.TxOptions{})
	tag, err := tx.Exec(b.t.Context(), "SELECT FROM "+b.table+" WHERE key = $1 FOR UPDATE", key)
	if err != nil || tag.RowsAffected() != 1 {
		b.t.Fatalf("lock the row of %q: %v, %v", key, tag, err)
	}
	return tx
}

// After an answer that leaves it in doubt whether locks are held, the connection
// is closed with all of them, and its leases know at once.
func TestDoubtClosesTheConnection(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		// What the server says in its own words while it holds the lock.
		"an error": "RAISE EXCEPTION 'no'",
		// As when the wait for a synchronous standby is cancelled: the commit is
		// there, and may be gone after a failover.
		"a warning": "RAISE WARNING 'no'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, distlock.WithTTL(time.Hour))
			other := b.acquire("other")
			b.trigger("bad", statement)
			_, err := b.client.TryAcquire(within(t, patience), "bad")
			var answer *pgconn.PgError
			if !errors.As(err, &answer) || answer.Message != "no" {
				t.Errorf("got %v, want the server's own words", err)
			}
			select {
			case <-other.Done():
			case <-time.After(patience):
				t.Fatal("a lease on the closed connection does not end")
			}
			is(t, "the other lease", other.Err(), distlock.ErrLost)
			b.free("bad")
			b.free("other")
			b.acquire("other") // on another connection
		})
	}
}

// A lock that is gone at its release is not what a connection of one's own does.
func TestReleaseOfNothingClosesTheConnection(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(time.Hour), distlock.WithLockDelay(time.Second))
	l, other := b.acquire("k"), b.acquire("other")
	b.trigger("k", "PERFORM pg_catalog.pg_advisory_unlock(new.id)") // with the end of the lock-delay, before the release
	if err := l.Release(t.Context()); err == nil || errors.Is(err, distlock.ErrLost) {
		t.Errorf("Release: got %v, want that it cannot tell", err)
	}
	<-other.Done()
	is(t, "the other lease", other.Err(), distlock.ErrLost)
	b.free("other")
}

// A statement that is cancelled on the server after it has taken the lock.
func TestCancelledStatementLeavesNoLock(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(time.Hour))
	is(t, "Release", b.acquire("k").Release(t.Context()))
	tx := b.block("k")
	got := make(chan error, 1)
	go func() { _, err := b.client.Acquire(within(t, patience), "k"); got <- err }()
	eventually(t, "the attempt holds the lock", func() bool { return b.held("k") })
	exec(t, b.pool, "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE "+isLock, pglock.ID(b.opts.Namespace, "k"))
	if err := <-got; !isSQLState(err, "57014") {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	b.free("k")
	is(t, "rollback", tx.Rollback(t.Context()))
	is(t, "Release", b.acquire("k").Release(t.Context()))
}

// A caller that gives up hurts nobody else on the connection, and what it was
// granted after all is given back.
func TestCallerThatLeavesKeepsTheConnection(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(time.Hour))
	other := b.acquire("other")
	is(t, "Release", b.acquire("k").Release(t.Context()))
	tx := b.block("k")
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() { _, err := b.client.Acquire(ctx, "k"); got <- err }()
	eventually(t, "the attempt holds the lock", func() bool { return b.held("k") })
	cancel()
	is(t, "Acquire", <-got, context.Canceled)
	is(t, "rollback", tx.Rollback(t.Context()))
	b.free("k")
	is(t, "the other lease", other.Err())
	is(t, "Release", other.Release(t.Context()))
}

// Grants that come together share a round trip and a commit.
func TestGrantsThatComeTogetherShareACommit(t *testing.T) {
	t.Parallel()
	b := newBed(t, distlock.WithTTL(time.Hour))
	is(t, "Release", b.acquire("first").Release(t.Context()))
	tx := b.block("first")
	const n = 50
	var wg sync.WaitGroup
	wg.Go(func() { b.acquire("first") })
	eventually(t, "the first is under way", func() bool { return b.held("first") })
	for i := range n {
		wg.Go(func() { b.acquire(fmt.Sprint("together/", i)) })
	}
	time.Sleep(200 * time.Millisecond) // for all to stand in line: fewer would only share less
	is(t, "rollback", tx.Rollback(t.Context()))
	wg.Wait()
	var rows, commits int
	is(t, "count", b.pool.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT xmin::text) FROM "+b.table+
		" WHERE key LIKE 'together/%'").Scan(&rows, &commits))
	if rows != n || commits > 3 {
		t.Errorf("%d rows in %d commits, want %d in one, or few", rows, commits, n)
	}
}
