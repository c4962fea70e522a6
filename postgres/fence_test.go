package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The isolation levels that a writer may have.
var levels = []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}

// newFence returns a fence of one source or, with sources, one for each, on a table
// of the test's own.
func newFence(t testing.TB, pool *pgxpool.Pool) *pglock.Fence {
	return newFences(t, pool, "a")[0]
}

func newFences(t testing.TB, pool *pgxpool.Pool, sources ...string) []*pglock.Fence {
	t.Helper()
	at := place(t, pool)
	all := make([]*pglock.Fence, len(sources))
	for i, source := range sources {
		all[i] = pglock.NewFence(pglock.FenceOptions{Source: source, Schema: at.Schema, Table: at.Table})
		migrate(t, pool, all[i].Schema()) // it may be run again
	}
	return all
}

// migrate runs a migration. Tests that start together wait for each other.
func migrate(t testing.TB, pool *pgxpool.Pool, sql string) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if err := pglock.AcquireTx(t.Context(), tx, "migration"); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), sql)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	f := newFence(t, pool)
	for _, step := range []struct {
		key    string
		token  distlock.Token
		commit bool
		want   error
	}{
		{"k", 5, true, nil},
		{"k", 5, true, nil},
		{"k", 4, true, distlock.ErrStale},
		{"other", 1, true, nil},
		{"k", 9, false, nil}, // rolled back: the mark too
		{"k", 6, true, nil},
		{"k", 5, true, distlock.ErrStale},
		{"k", 1<<63 - 1, true, nil},
		{"k", 1<<63 - 2, true, distlock.ErrStale},
		{"k", 0, true, distlock.ErrInvalid},
		{"k", 1 << 63, true, distlock.ErrInvalid},
		{"", 1, true, distlock.ErrInvalid},
		{"\x00", 1, true, distlock.ErrInvalid},
		{strings.Repeat("k", 513), 1, true, distlock.ErrInvalid},
	} {
		tx := begin(t, pool, pgx.TxOptions{})
		err := f.Advance(t.Context(), tx, step.key, step.token)
		if !errors.Is(err, step.want) {
			t.Errorf("Advance(%q, %v): got %v, want %v", step.key, step.token, err, step.want)
		}
		if step.commit && err == nil {
			is(t, "commit", tx.Commit(t.Context()))
		} else {
			is(t, "rollback", tx.Rollback(t.Context()))
		}
	}
}

func TestFenceOptions(t *testing.T) {
	var tx pgx.Tx = struct{ pgx.Tx }{} // not to be asked
	for name, o := range map[string]pglock.FenceOptions{
		"no source": {}, "source": {Source: "a\x00"},
		"schema": {Source: "a", Schema: string(make([]byte, 64))}, "table": {Source: "a", Table: "\xff"},
	} {
		f := pglock.NewFence(o)
		is(t, name, f.Advance(t.Context(), tx, "k", 1), distlock.ErrInvalid)
		is(t, name, f.Reset(t.Context(), tx, "k"), distlock.ErrInvalid)
	}
}

// write is what a holder does: it checks the fence and changes the balance, in
// one transaction.
type write struct {
	fence *pglock.Fence
	pool  *pgxpool.Pool
	level pgx.TxIsoLevel
}

func (w write) by(ctx context.Context, key string, token distlock.Token, meet func()) error {
	tx, err := w.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: w.level})
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	var n int
	if err := tx.QueryRow(ctx, "SELECT count(*) FROM test_writes WHERE key = $1", key).Scan(&n); err != nil {
		return err
	}
	meet() // both have their snapshot
	if err := w.fence.Advance(ctx, tx, key, token); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO test_writes VALUES ($1, $2)", key, int64(token)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// When the stale holder and the new one write at the same time, whatever the
// level, the stale one's write is not there after the new one's.
func TestFenceRace(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	f := newFence(t, pool)
	migrate(t, pool, `CREATE TABLE IF NOT EXISTS test_writes (key text NOT NULL, token bigint NOT NULL,
		at bigint GENERATED ALWAYS AS IDENTITY)`)
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			stale := 0
			for range 60 {
				if raceOnce(t, write{f, pool, level}) {
					stale++
				}
			}
			t.Logf("%d of 60 stale writes came first", stale)
		})
	}
}

// raceOnce has tokens 1 and 2 race and reports whether 1 got in, before 2.
func raceOnce(t *testing.T, w write) bool {
	t.Helper()
	key := distlock.NewOwner().Text()
	var both, wg sync.WaitGroup
	both.Add(2)
	meet := func() { both.Done(); both.Wait() }
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() { errs[i] = w.by(t.Context(), key, distlock.Token(i+1), meet) })
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
		case isSQLState(err, "40001") && w.level != pgx.ReadCommitted:
		case i == 0 && errors.Is(err, distlock.ErrStale):
		default:
			t.Fatalf("the holder of token %d: %v", i+1, err)
		}
	}
	if errs[0] != nil && errs[1] != nil {
		t.Errorf("neither got in: %v, %v", errs[0], errs[1])
	}
	// Once the new holder is in, the other one fails for good.
	if errs[1] == nil {
		is(t, "the stale holder, again", w.by(t.Context(), key, 1, func() {}), distlock.ErrStale)
	} else {
		is(t, "the new holder, again", w.by(t.Context(), key, 2, func() {}))
	}
	rows, err := w.pool.Query(t.Context(), "SELECT token FROM test_writes WHERE key = $1 ORDER BY at", key)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(tokens); i++ {
		if tokens[i] < tokens[i-1] {
			t.Errorf("writes in the order %v", tokens)
		}
	}
	return errs[0] == nil
}

// The form with a column of the user's own, which the documentation of Fence
// shows: a stale holder's commit fails at every level, also when the two race.
func TestFenceColumnRace(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	migrate(t, pool, "CREATE TABLE IF NOT EXISTS test_account (id text PRIMARY KEY, balance bigint NOT NULL, fence bigint NOT NULL DEFAULT 0)")
	for _, level := range levels {
		for range 40 {
			id := distlock.NewOwner().Text()
			if _, err := pool.Exec(t.Context(), "INSERT INTO test_account VALUES ($1, 100)", id); err != nil {
				t.Fatal(err)
			}
			debit := func(token distlock.Token, meet func()) error {
				return pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
					var seen int64
					if err := tx.QueryRow(t.Context(), "SELECT balance FROM test_account WHERE id = $1", id).Scan(&seen); err != nil {
						return err
					}
					meet()
					tag, err := tx.Exec(t.Context(), `UPDATE test_account SET balance = balance - $1, fence = $2
						WHERE id = $3 AND fence <= $2`, 60, int64(token), id)
					if err == nil && tag.RowsAffected() == 0 {
						err = distlock.ErrStale
					}
					return err
				})
			}
			var both, wg sync.WaitGroup
			both.Add(2)
			meet := func() { both.Done(); both.Wait() }
			var old, young error
			wg.Go(func() { old = debit(1, meet) })
			wg.Go(func() { young = debit(2, meet) })
			wg.Wait()
			if young == nil {
				is(t, "the stale holder, again", debit(1, func() {}), distlock.ErrStale)
			}
			for _, err := range []error{old, young} {
				if err != nil && !isSQLState(err, "40001") && !errors.Is(err, distlock.ErrStale) {
					t.Fatal(err)
				}
			}
			if errors.Is(young, distlock.ErrStale) {
				t.Error("the new holder was called stale")
			}
		}
	}
}
