package sqlfence

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/pause"
)

// Reset makes the mark of key one of this fence's source, at 0: every token of
// this source passes, and those of the source before are errors from now on.
//
// It is an operator's tool, for a move to another lock service, or after the
// present one was restored from a backup and hands out smaller tokens again. In
// the second case nothing but you can tell the old holders' tokens from the new
// ones, so end all holders first, or give the restored service another name.
func (f *Fence) Reset(ctx context.Context, tx *sql.Tx, key string) error {
	if err := f.valid(key, tx != nil); err != nil {
		return f.failed(key, err)
	}
	args := []any{key, f.source}
	if f.dialect == MySQL {
		args = []any{[]byte(key), []byte(f.source), []byte(f.source)}
	}
	_, err := tx.ExecContext(ctx, f.sql["reset"], args...)
	return f.failed(key, err)
}

// ResetAll is Reset for every key that has a mark. It returns how many those
// were. A key without one needs none: it takes the first token's source.
func (f *Fence) ResetAll(ctx context.Context, tx *sql.Tx) (int64, error) {
	const every = "*"
	if err := f.valid(every, tx != nil); err != nil {
		return 0, f.failed(every, err)
	}
	var source any = f.source
	if f.dialect == MySQL {
		source = []byte(f.source)
	}
	n, err := affected(tx.ExecContext(ctx, f.sql["resetall"], source))
	return n, f.failed(every, err)
}

// advanceTries bounds how often AdvanceDB begins a transaction.
const advanceTries = 20

// AdvanceDB is Advance in a transaction of its own, which it commits, and runs
// again while it loses races, up to 20 times, with a pause before each. It is for a take-over of several
// databases and for services that are handed a token: see httpfence. After an
// error that is none of the sentinels it is unknown whether the mark was raised;
// to call it again is safe.
func (f *Fence) AdvanceDB(ctx context.Context, db *sql.DB, key string, t distlock.Token) error {
	if db == nil {
		return f.failed(key, distlock.Invalid("database", "nil", "one that is open"))
	}
	for n := 1; ; n++ {
		err := f.advanceOnce(ctx, db, key, t, n)
		if !f.dialect.Retryable(err) {
			return err
		}
		// A busy writer must not be faster each time.
		wait := time.Millisecond << min(n, 6)
		if n == advanceTries {
			return fmt.Errorf("%w (%d times)", err, n)
		}
		if ended := pause.For(ctx, wait/2+rand.N(wait)); ended != nil {
			return fmt.Errorf("%w (%d times): %w", err, n, ended)
		}
	}
}

// advanceOnce is the n-th transaction of AdvanceDB. The first is as the database has
// them; those after a lost race do not lose another to a writer that they can wait for.
func (f *Fence) advanceOnce(ctx context.Context, db *sql.DB, key string, t distlock.Token, n int) error {
	if err := f.valid(key, true); err != nil {
		return f.failed(key, err) // not even a transaction begun
	}
	var opts sql.TxOptions
	if n > 1 {
		opts.Isolation = traits[f.dialect].advanceBy
	}
	tx, err := db.BeginTx(ctx, &opts)
	if err != nil {
		return f.failed(key, err)
	}
	defer tx.Rollback() // after Commit, of nothing
	if err := f.Advance(ctx, tx, key, t); err != nil {
		return err
	}
	return f.failed(key, tx.Commit())
}
