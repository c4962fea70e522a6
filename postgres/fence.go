package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/mark"
	"github.com/jackc/pgx/v5"
)

// DefaultMarks is the table where a Fence keeps its marks if its options say nothing.
const DefaultMarks = "distlock_marks"

// FenceOptions say whose tokens a Fence takes and where its marks are.
type FenceOptions struct {
	// Source names the lock service that the tokens come from, such as
	// "postgres-eu": 1 to 128 bytes of printable ASCII. Required. A mark means
	// something only for the tokens of one service and namespace, so a mark of
	// another source is an error.
	Source string
	// Schema and Table name the table of marks, as they are. Defaults:
	// DefaultSchema and DefaultMarks. Each up to 63 bytes of UTF-8 without NUL.
	Schema string
	Table  string
}

// A Fence is the resource's side of the check for resources that are rows of
// this database. For each it keeps a mark, the largest token seen, and refuses
// smaller ones, in the transaction that writes. The tokens may come from any lock
// service. Make the table by what Schema returns.
//
// Where the resource is one row of the user's own, a column does without a
// table of marks, in the write itself; no row affected is distlock.ErrStale:
//
//	UPDATE account SET balance = balance - $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// It is safe for concurrent use.
type Fence struct {
	opts  Options // Schema and Table
	from  string
	raise string // the statement of every write, made once
	err   error  // of the options; told by every call
}

var (
	//go:embed sql/marks.sql
	marksSQL string
	//go:embed sql/fence.sql
	fenceSQL string
	//go:embed sql/mark.sql
	markSQL string
	//go:embed sql/reset.sql
	resetSQL string
)

// NewFence returns a fence. Errors in the options are told by the first call.
func NewFence(o FenceOptions) *Fence {
	f := &Fence{opts: Options{Schema: o.Schema, Table: o.Table}, from: o.Source}
	if f.opts.Table == "" {
		f.opts.Table = DefaultMarks
	}
	f.opts = f.opts.withDefaults()
	f.raise = f.opts.in(fenceSQL)
	if f.err = distlock.CheckSource(f.from); f.err == nil {
		f.err = f.opts.check()
	}
	return f
}

// Schema returns the migration that makes the table of marks, as the function
// Schema does for that of counters. Who uses the fence needs USAGE on the schema
// and SELECT, INSERT and UPDATE on the table.
func (f *Fence) Schema() string { return f.opts.createSchema() + f.opts.in(marksSQL) }

// Advance raises the mark of key to t and locks it until tx ends. Call it in
// every transaction that writes the resource, before the write; and in one of
// its own at take-over, before the first read of any resource that will be
// touched. It returns
//   - nil: t is not smaller than any token seen, and none larger passes before
//     tx has ended. What tx writes is that holder's;
//   - an error that matches distlock.ErrStale: it is smaller;
//   - one that matches distlock.ErrSource: the mark is another source's. Nothing
//     was compared: see Reset;
//   - one that matches distlock.ErrInvalid and not ErrSource: t is 0 or over 2^63-1,
//     key is not 1 to 512 bytes of UTF-8 without NUL, tx is nil, or the options are
//     not usable. Nothing was sent;
//   - any other error is the server's, and tx is void. Under REPEATABLE READ and
//     SERIALIZABLE that is a serialization failure (SQLSTATE 40001) where
//     another holder has moved the mark since tx began: in a new transaction it
//     comes to one of the others.
//
// After any error roll tx back: no mark covers what it wrote before. Transactions
// of one holder on one resource wait for each other.
func (f *Fence) Advance(ctx context.Context, tx pgx.Tx, key string, t distlock.Token) error {
	return f.failed(key, f.advance(ctx, tx, key, t))
}

func (f *Fence) advance(ctx context.Context, tx pgx.Tx, key string, t distlock.Token) error {
	err := f.valid(tx, key)
	if err == nil {
		err = distlock.CheckToken(t)
	}
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, f.raise, key, f.from, int64(t))
	if err != nil || tag.RowsAffected() == 1 {
		return err
	}
	return f.refusal(ctx, tx, key, t)
}

// refusal says why t could not raise the mark, which tx has locked.
func (f *Fence) refusal(ctx context.Context, tx pgx.Tx, key string, t distlock.Token) error {
	var source string
	var token int64
	err := tx.QueryRow(ctx, f.opts.in(markSQL), key).Scan(&source, &token)
	if err == nil {
		err = mark.Judge(source, distlock.Token(token), f.from, t)
	}
	if err != nil {
		return err
	}
	return errors.New("the mark was not raised: a trigger of its table keeps it")
}

// Reset makes the mark of key one of this fence's source, at 0, if tx commits:
// every token of this source passes, and those of the source before are
// distlock.ErrSource from now on. Errors are those of Advance, without ErrStale and
// ErrSource.
//
// It is an operator's tool, for a move to another lock service, or after the
// present one was restored from a backup and hands out smaller tokens again. In the
// second case nothing but you can tell the old holders' tokens from the new ones, so
// end all holders first, or give the restored service another name.
func (f *Fence) Reset(ctx context.Context, tx pgx.Tx, key string) error {
	err := f.valid(tx, key)
	if err == nil {
		_, err = tx.Exec(ctx, f.opts.in(resetSQL), key, f.from)
	}
	return f.failed(key, err)
}

// valid checks what all methods are given.
func (f *Fence) valid(tx pgx.Tx, key string) error {
	if f.err != nil {
		return f.err
	}
	if err := checkTx(tx); err != nil {
		return err
	}
	return distlock.CheckKey(key)
}

func (f *Fence) failed(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("distlock: fence %q (postgres): %w", key, err)
}
