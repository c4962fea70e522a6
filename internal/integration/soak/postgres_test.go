package soak_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5/pgxpool"
)

func startPostgres(t *testing.T) service {
	s := servers.Start(t, servers.Postgres)
	return service{addrs: s.Addrs(), nodes: []*servers.Server{s}, left: leftInPostgres(t, s.Addr())}
}

func connectPostgres(n network) (distlock.Backend, func() error) {
	pool := postgresPool(n.Addrs[0])
	return pglock.New(pool, &pglock.Options{CreateTable: true, NoAsyncFailover: true}), func() error {
		pool.Close()
		return nil
	}
}

func postgresPool(addr string) *pgxpool.Pool {
	pool, err := pgxpool.New(context.Background(), servers.PostgresURL(addr))
	if err != nil {
		panic(err) // it connects later: only the configuration can be wrong
	}
	return pool
}

// leftInPostgres tells the advisory locks, and the connections that have one or listen.
func leftInPostgres(t *testing.T, addr string) leftFunc {
	pool := postgresPool(addr)
	t.Cleanup(pool.Close)
	return func(ctx context.Context) ([]string, error) {
		rows, err := pool.Query(ctx, `SELECT 'advisory lock of ' || pid FROM pg_locks WHERE locktype = 'advisory'
			UNION SELECT 'connection ' || pid FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
		if err != nil {
			return nil, err
		}
		var left []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return nil, err
			}
			left = append(left, name)
		}
		return left, rows.Err()
	}
}
