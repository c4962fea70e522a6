package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/fencetest"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// What all fences have in common.
func TestFenceRules(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	migrate(t, pool, "CREATE TABLE IF NOT EXISTS test_contents (name text PRIMARY KEY, content text NOT NULL)")
	fences := map[string]*pglock.Fence{}
	sources := []string{"one", "one other"}
	for i, f := range newFences(t, pool, sources...) {
		fences[sources[i]] = f
	}
	fencetest.Run(t, fencetest.Harness{
		Open:      func(source string) fencetest.Fence { return common(pool, fences[source]) },
		RollsBack: true,
	})
}

func common(pool *pgxpool.Pool, f *pglock.Fence) fencetest.Fence {
	in := func(ctx context.Context, key string, t distlock.Token, query string, args ...any) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if err := f.Advance(ctx, tx, key, t); err != nil || query == "" {
				return err
			}
			_, err := tx.Exec(ctx, query, args...)
			return err
		})
	}
	return fencetest.Fence{
		Advance: func(ctx context.Context, key string, t distlock.Token) error { return in(ctx, key, t, "") },
		Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
			return in(ctx, key, t, `INSERT INTO test_contents VALUES ($1, $2)
				ON CONFLICT (name) DO UPDATE SET content = excluded.content`, key, content)
		},
		Read: func(ctx context.Context, key string) (content string, err error) {
			err = pool.QueryRow(ctx, "SELECT content FROM test_contents WHERE name = $1", key).Scan(&content)
			if errors.Is(err, pgx.ErrNoRows) {
				err = nil
			}
			return content, err
		},
		Reset: func(ctx context.Context, key string) error {
			return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return f.Reset(ctx, tx, key) })
		},
		Fail: func(ctx context.Context, key string, t distlock.Token) error {
			return in(ctx, key, t, "SELECT 1 / 0")
		},
	}
}
