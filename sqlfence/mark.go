package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	fencemark "github.com/distlock-go/distlock/internal/mark"
)

// A mark is a row as it was read.
type mark struct {
	source  string
	token   distlock.Token
	version int64 // MySQL's only
}

// judge returns nil if t may pass m.
func (f *Fence) judge(m mark, t distlock.Token) error {
	return fencemark.Judge(m.source, m.token, f.source, t)
}

// upsert is Check where one statement compares, writes and locks.
func (f *Fence) upsert(ctx context.Context, tx *sql.Tx, key string, t distlock.Token) error {
	n, err := affected(tx.ExecContext(ctx, f.sql["raise"], key, f.source, int64(t)))
	if err != nil || n == 1 {
		return err
	}
	var m mark
	err = tx.QueryRowContext(ctx, f.sql["read"], key).Scan(&m.source, &m.token)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: the mark was deleted meanwhile", ErrRetry)
	}
	if err == nil {
		err = f.judge(m, t)
	}
	if err == nil { // no row was affected, and yet the token fits
		err = fmt.Errorf("%w: the mark was changed meanwhile", ErrRetry)
	}
	return err
}

// compareAndSwap is Check for MySQL, where a locking statement works on newer
// rows than the transaction's reads see. It reads as those do, and then changes
// the row only if nobody has since: so what the transaction has read, or will
// read, includes every write that was checked before. Where that fails, it
// locks the row and tries once more; under READ COMMITTED the second read is of
// the newest row, and under REPEATABLE READ it shows whether the snapshot is too
// old.
func (f *Fence) compareAndSwap(ctx context.Context, tx *sql.Tx, key string, t distlock.Token) error {
	done, err := f.trySwap(ctx, tx, key, t)
	if done || err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, f.sql["lock"], []byte(key), []byte(f.source)); err != nil {
		return err
	}
	done, err = f.trySwap(ctx, tx, key, t)
	if !done && err == nil {
		err = fmt.Errorf("%w: the mark is newer than the transaction's snapshot", ErrRetry)
	}
	return err
}

// trySwap reports false without an error if there is no row to be seen or it is
// not the newest one.
func (f *Fence) trySwap(ctx context.Context, tx *sql.Tx, key string, t distlock.Token) (bool, error) {
	var m mark
	err := tx.QueryRowContext(ctx, f.sql["read"], []byte(key)).Scan(&m.source, &m.token, &m.version)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := f.judge(m, t); err != nil {
		return false, err
	}
	n, err := affected(tx.ExecContext(ctx, f.sql["raise"], int64(t), []byte(key), m.version))
	return n == 1, err
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}
