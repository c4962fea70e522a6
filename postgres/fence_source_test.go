package postgres_test

import (
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
)

// A mark is compared with tokens of its own source only, until Reset.
func TestFenceSources(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	fences := newFences(t, pool, "etcd-eu", `an "odd" one`)
	old, young := fences[0], fences[1]
	for _, level := range levels {
		advance := func(f *pglock.Fence, token distlock.Token) error {
			return pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				return f.Advance(t.Context(), tx, string(level), token)
			})
		}
		reset := func(tx pgx.Tx) error { return young.Reset(t.Context(), tx, string(level)) }
		is(t, "the first source", advance(old, 100))
		for _, token := range []distlock.Token{1, 100, 101} {
			err := advance(young, token)
			is(t, "another source", err, distlock.ErrSource, distlock.ErrInvalid)
			if errors.Is(err, distlock.ErrStale) {
				t.Errorf("got %v, want no comparison", err)
			}
		}
		tx := begin(t, pool, pgx.TxOptions{IsoLevel: level})
		is(t, "Reset", reset(tx))
		is(t, "rollback", tx.Rollback(t.Context()))
		is(t, "a Reset that was rolled back", advance(old, 100))
		is(t, "its mark", advance(old, 99), distlock.ErrStale)
		is(t, "Reset", pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: level}, reset))
		is(t, "the source before", advance(old, 101), distlock.ErrSource)
		is(t, "after Reset", advance(young, 1))
		is(t, "after it", advance(young, 2))
		is(t, "its mark", advance(young, 1), distlock.ErrStale)
	}
}

// A Reset of a key without a mark keeps it for its source.
func TestFenceResetOfANewKey(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	fences := newFences(t, pool, "a", "b")
	tx := begin(t, pool, pgx.TxOptions{})
	is(t, "Reset", fences[0].Reset(t.Context(), tx, "new"))
	is(t, "another source", fences[1].Advance(t.Context(), tx, "new", 1), distlock.ErrSource)
	is(t, "the source", fences[0].Advance(t.Context(), tx, "new", 1))
	is(t, "the empty key", fences[0].Reset(t.Context(), tx, ""), distlock.ErrInvalid)
	is(t, "no transaction", fences[0].Reset(t.Context(), nil, "new"), distlock.ErrInvalid)
	is(t, "no transaction", fences[0].Advance(t.Context(), nil, "new", 1), distlock.ErrInvalid)
}

// What keeps a mark from being raised is never a success.
func TestFenceWithATableThatKeepsMarks(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	at := place(t, pool)
	f := pglock.NewFence(pglock.FenceOptions{Source: "a", Schema: at.Schema, Table: at.Table})
	migrate(t, pool, f.Schema())
	table := pgx.Identifier{at.Schema, at.Table}.Sanitize()
	tx := begin(t, pool, pgx.TxOptions{})
	is(t, "Advance", f.Advance(t.Context(), tx, "k", 1))
	is(t, "commit", tx.Commit(t.Context()))
	function := pgx.Identifier{at.Schema, "keep"}.Sanitize()
	exec(t, pool, "CREATE FUNCTION "+function+"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
	exec(t, pool, "CREATE TRIGGER keep BEFORE UPDATE ON "+table+" FOR EACH ROW EXECUTE FUNCTION "+function+"()")
	err := f.Advance(t.Context(), begin(t, pool, pgx.TxOptions{}), "k", 2)
	if err == nil || errors.Is(err, distlock.ErrStale) {
		t.Errorf("got %v, want an error of its own", err)
	}
}
