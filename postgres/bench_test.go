package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The benchmarks beside floors and peers are in internal/integration/bench.

func BenchmarkAcquireRelease(b *testing.B) {
	c := client(b, connect(b), fresh())
	ctx := context.Background()
	for b.Loop() {
		l, err := c.Acquire(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParallel(b *testing.B) {
	c := client(b, connect(b), fresh())
	ctx := context.Background()
	b.SetParallelism(10)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l, err := c.Acquire(ctx, "k")
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFloorLock(b *testing.B) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, serverURL(b, "DISTLOCK_TEST_POSTGRES"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	for b.Loop() {
		var ok bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(5)).Scan(&ok); err != nil || !ok {
			b.Fatal(err)
		}
		if err := conn.QueryRow(ctx, "SELECT pg_advisory_unlock($1)", int64(5)).Scan(&ok); err != nil || !ok {
			b.Fatal(err)
		}
	}
}

func BenchmarkFloorRow(b *testing.B) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, serverURL(b, "DISTLOCK_TEST_POSTGRES"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS bench_floor (key text PRIMARY KEY, owner text NOT NULL)")
	for b.Loop() {
		if _, err := conn.Exec(ctx, "INSERT INTO bench_floor VALUES ($1, $2)", "k", "o"); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Exec(ctx, "DELETE FROM bench_floor WHERE key = $1", "k"); err != nil {
			b.Fatal(err)
		}
	}
}
