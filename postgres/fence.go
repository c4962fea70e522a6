package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5/pgconn"
)

// Where a Fence keeps its marks if its options say nothing, and what it calls
// the source of tokens.
const (
	DefaultMarks  = "distlock_marks"
	DefaultSource = "postgres"
)

// FenceOptions change defaults.
type FenceOptions struct {
	// Source names the lock service that the tokens come from: up to 128 bytes
	// of UTF-8 without NUL. Default DefaultSource. A mark means something only for the
	// tokens of one service and namespace, so each source has marks of its own.
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
	opts Options // Schema and Table
	sql  string
	from string
	err  error // of the options; told by every call
}

//go:embed sql/fence.sql
var fenceSQL string

//go:embed sql/marks.sql
var marksSQL string

// NewFence returns a fence. Nil options are all defaults. Errors in them are
// told by the first call.
func NewFence(o *FenceOptions) *Fence {
	if o == nil {
		o = &FenceOptions{}
	}
	f := &Fence{opts: Options{Schema: o.Schema, Table: o.Table}, from: o.Source}
	if f.opts.Table == "" {
		f.opts.Table = DefaultMarks
	}
	if f.from == "" {
		f.from = DefaultSource
	}
	f.opts = f.opts.withDefaults()
	f.sql = f.opts.in(fenceSQL)
	if len(f.from) > 128 || !isText(f.from) {
		f.err = distlock.Invalid("source", strconv.Quote(f.from), "up to 128 bytes of UTF-8 without NUL")
	} else {
		f.err = f.opts.check()
	}
	return f
}

// Schema returns the migration that makes the table of marks, as the function
// Schema does for that of counters. Who uses the fence needs USAGE on the schema
// and SELECT, INSERT and UPDATE on the table.
func (f *Fence) Schema() string { return f.opts.createSchema() + f.opts.in(marksSQL) }

// An Execer is what a Fence needs of the caller's transaction: a pgx.Tx.
type Execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Advance raises the mark of key to t and locks it until tx ends. Call it in
// every transaction that writes the resource, before the write; and in one of
// its own at take-over, before the first read of any resource that will be
// touched. It returns
//   - nil: t is not smaller than any token seen, and none larger passes before
//     tx has ended. What tx writes is that holder's;
//   - an error that matches distlock.ErrStale: it is smaller. Roll tx back;
//   - one that matches distlock.ErrInvalid: t is 0 or over 2^63-1, key is empty or no text,
//     or the options are not usable. Nothing was sent;
//   - any other error is the server's, and tx is void. Under REPEATABLE READ and
//     SERIALIZABLE that is a serialization failure (SQLSTATE 40001) where
//     another holder has moved the mark since tx began: in a new transaction it
//     comes to one of the others.
//
// With a pool or a connection outside of a transaction it would protect nothing.
// Transactions of one holder on one resource wait for each other.
func (f *Fence) Advance(ctx context.Context, tx Execer, key string, t distlock.Token) error {
	err := f.advance(ctx, tx, key, t)
	if err != nil {
		err = fmt.Errorf("distlock: fence %q (postgres): %w", key, err)
	}
	return err
}

func (f *Fence) advance(ctx context.Context, tx Execer, key string, t distlock.Token) error {
	switch {
	case f.err != nil:
		return f.err
	case t == 0 || t > math.MaxInt64:
		return distlock.Invalid("token", t, "from 1 to 9223372036854775807")
	case key == "" || !isText(key):
		return distlock.Invalid("key", strconv.Quote(key), "UTF-8 without NUL, and not empty")
	}
	tag, err := tx.Exec(ctx, f.sql, f.from, key, int64(t))
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("%w: %v is smaller than the last one", distlock.ErrStale, t)
	}
	return nil
}
