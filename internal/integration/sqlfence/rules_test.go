package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/fencetest"
)

// What all fences have in common.
func TestRules(t *testing.T) {
	onDatabases(t, every, func(b *bench) {
		table := b.accounts + "_text"
		b.is("set-up", b.in(sql.LevelDefault, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(b.ctx, "CREATE TABLE "+table+" (name varchar(255) PRIMARY KEY, content varchar(255) NOT NULL)")
			return err
		}), nil)
		b.Cleanup(func() {
			if _, err := b.db.ExecContext(context.WithoutCancel(b.ctx), "DROP TABLE "+table); err != nil {
				b.Error(err)
			}
		})
		fencetest.Run(b.TB.(*testing.T), fencetest.Harness{
			Open:      func(source string) fencetest.Fence { return b.common(source, table) },
			RollsBack: true,
		})
	})
}

// common is a fence that writes to table.
func (b *bench) common(source, table string) fencetest.Fence {
	f := b.fence(source)
	checked := func(ctx context.Context, key string, t distlock.Token, write func(tx *sql.Tx) error) error {
		b := *b
		b.ctx = ctx
		return b.in(sql.LevelDefault, func(tx *sql.Tx) error {
			if err := f.Check(ctx, tx, key, t); err != nil {
				return err
			}
			return write(tx)
		})
	}
	name := func(key string) string { return fmt.Sprintf("%x", key) } // whatever the collation
	return fencetest.Fence{
		Advance: func(ctx context.Context, key string, t distlock.Token) error { return f.AdvanceDB(ctx, b.db, key, t) },
		Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
			return checked(ctx, key, t, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, b.bind("DELETE FROM "+table+" WHERE name = ?"), name(key)); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, b.bind("INSERT INTO "+table+" VALUES (?, ?)"), name(key), content)
				return err
			})
		},
		Read: func(ctx context.Context, key string) (content string, err error) {
			err = b.db.QueryRowContext(ctx, b.bind("SELECT content FROM "+table+" WHERE name = ?"), name(key)).Scan(&content)
			if errors.Is(err, sql.ErrNoRows) {
				err = nil
			}
			return content, err
		},
		Reset: func(ctx context.Context, key string) error {
			return b.in(sql.LevelDefault, func(tx *sql.Tx) error { return f.Reset(ctx, tx, key) })
		},
		Fail: func(ctx context.Context, key string, t distlock.Token) error {
			return checked(ctx, key, t, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO "+table+" VALUES (NULL, NULL)")
				return err
			})
		},
	}
}
