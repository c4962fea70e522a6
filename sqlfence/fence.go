package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/distlock-go/distlock"
)

// Options say whose tokens a Fence takes and where its marks are.
type Options struct {
	// Source names the lock service that the tokens come from, such as
	// "etcd-eu": 1 to 128 bytes of printable ASCII. Required. A mark means
	// something only for the tokens of one service, so a mark of another source
	// is an error. Two services of the same kind need two names.
	Source string
	// Table is the table of marks, "name" or "schema.name", each part up to 63
	// bytes. It is quoted, so case matters. Default DefaultTable.
	Table string
}

// DefaultTable is where marks are unless Options.Table says otherwise.
const DefaultTable = "distlock_fence"

// A Fence is the resource's side of the check for resources in an SQL database.
// For each lock key it keeps a mark, the largest token seen, in a table beside
// the data, and refuses smaller ones. It is the transaction that makes the check
// and the writes one step: see Check.
//
// Every method returns
//   - nil: done, if the transaction commits;
//   - an error that matches distlock.ErrStale: the token is smaller than the
//     mark;
//   - one that matches distlock.ErrSource: the mark is another source's;
//   - one that matches distlock.ErrInvalid: an argument is out of its bounds.
//     A key is 1 to 512 bytes of UTF-8 without NUL, a token from 1 to 2^63-1;
//   - one that matches ErrRetry: the transaction lost a race, nothing was
//     decided. Roll back and run all of it again;
//   - any other error: the database's or the driver's own.
//
// After any error roll the transaction back: what it wrote before is not
// covered. All methods are safe for concurrent use, as far as one *sql.Tx is.
type Fence struct {
	dialect Dialect
	source  string
	sql     map[string]string // statements by name
	err     error             // of the arguments; told by every method
}

// New returns a fence for databases of this dialect. It touches no network;
// errors in the arguments are told by the first call.
func New(d Dialect, o Options) *Fence {
	f := &Fence{dialect: d, source: o.Source}
	if !d.known() {
		f.err = distlock.Invalid("dialect", d, "Postgres, MySQL or SQLite")
		return f
	}
	if o.Table == "" {
		o.Table = DefaultTable
	}
	table, err := d.ident(o.Table)
	if err != nil {
		f.err = distlock.Invalid("table", strconv.Quote(o.Table), err.Error())
		return f
	}
	f.sql = d.statements(table)
	f.err = distlock.CheckSource(o.Source)
	return f
}

// Schema returns the statement that creates the table of marks if there is
// none, without a semicolon, for your migrations. It is empty if New was given
// arguments that make no table.
func (f *Fence) Schema() string { return f.sql["schema"] }

// Advance raises the mark of key to t within tx: at take-over, before the first
// read, in every database that the holder will touch. Commit tx before you read
// elsewhere. What tx itself reads after Advance is safe to build on: no earlier
// holder's checked write can come any more, nor is one missing from what tx
// sees.
//
// Advance and Check are one operation under the two names that a holder knows
// it by.
func (f *Fence) Advance(ctx context.Context, tx *sql.Tx, key string, t distlock.Token) error {
	return f.Check(ctx, tx, key, t)
}

// Check lets tx go on if t is not smaller than the mark of key, raises the mark
// to t, and keeps every other token from being checked until tx ends. Writes of
// tx, before or after the Check, so land only if t was the largest at the time
// of the commit. An equal t passes: one holder writes many times.
//
// It waits for another transaction that has checked the same key and not ended
// yet. A rollback, also one to a savepoint before the Check, undoes it.
func (f *Fence) Check(ctx context.Context, tx *sql.Tx, key string, t distlock.Token) error {
	err := f.valid(key, tx != nil)
	if err == nil {
		err = distlock.CheckToken(t)
	}
	if err != nil {
		return f.failed(key, err)
	}
	if f.dialect == MySQL {
		return f.failed(key, f.compareAndSwap(ctx, tx, key, t))
	}
	return f.failed(key, f.upsert(ctx, tx, key, t))
}

// valid checks what all methods are given.
func (f *Fence) valid(key string, hasTx bool) error {
	switch {
	case f.err != nil:
		return f.err
	case !hasTx:
		return distlock.Invalid("transaction", "nil", "one that has begun")
	}
	return distlock.CheckKey(key)
}

// failed names the key, and marks an error that says that a race was lost.
func (f *Fence) failed(key string, err error) error {
	if err == nil {
		return nil
	}
	if f.dialect.Retryable(err) && !errors.Is(err, ErrRetry) {
		err = fmt.Errorf("%w: %w", ErrRetry, err)
	}
	return fmt.Errorf("distlock: fence %q (%v): %w", key, f.dialect, err)
}
