package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresEnv names the database, as for the tests.
const postgresEnv = "DISTLOCK_TEST_POSTGRES"

// A pgProcess stands for one: a lock client with a lock connection of its own, and a
// pool for the floors.
type pgProcess struct {
	pool *pgxpool.Pool
	lock *distlock.Client
}

// dialPG opens a pool of poolSize.
func dialPG(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MinConns, cfg.MaxConns = poolSize, poolSize
	return pgxpool.NewWithConfig(ctx, cfg)
}

// newPGProcess connects to the database at url. Close it.
func newPGProcess(ctx context.Context, url string, opts ...distlock.Option) (*pgProcess, error) {
	pool, err := dialPG(ctx, url)
	if err != nil {
		return nil, err
	}
	lock, err := distlock.New(pglock.New(pool, &pglock.Options{CreateTable: true, NoAsyncFailover: true}), opts...)
	if err == nil {
		_, err = pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS bench_floor (key text PRIMARY KEY, owner text NOT NULL)")
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &pgProcess{pool: pool, lock: lock}, nil
}

func (p *pgProcess) close() error {
	err := p.lock.Close(context.Background())
	p.pool.Close()
	return err
}

// once acquires key, enters and leaves g, and releases.
func (p *pgProcess) once(ctx context.Context, key string, g *guard) error {
	l, err := p.lock.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(l.Token()), g.leave(), l.Release(ctx))
}

// rowOnce is the floor with a row: one commit to take it and one to give it up.
func (p *pgProcess) rowOnce(ctx context.Context, key string, g *guard) error {
	for {
		tag, err := p.pool.Exec(ctx, "INSERT INTO bench_floor VALUES ($1, $2) ON CONFLICT DO NOTHING", key, floorOwner)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 1 {
			break
		}
	}
	err := errors.Join(g.enter(0), g.leave())
	tag, derr := p.pool.Exec(ctx, "DELETE FROM bench_floor WHERE key = $1", key)
	if derr == nil && tag.RowsAffected() != 1 {
		derr = errGone
	}
	return errors.Join(err, derr)
}

// lockOnce is the floor without a token: an advisory lock on a connection that is kept.
func lockOnce(ctx context.Context, conn *pgx.Conn, id int64, g *guard) error {
	var ok bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", id).Scan(&ok); err != nil || !ok {
		return errors.Join(err, errGone)
	}
	err := errors.Join(g.enter(0), g.leave())
	if uerr := conn.QueryRow(ctx, "SELECT pg_advisory_unlock($1)", id).Scan(&ok); uerr != nil || !ok {
		return errors.Join(err, uerr, errGone)
	}
	return err
}

// describePG says on what is measured.
func describePG(ctx context.Context, url string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var version, fsync string
	err = conn.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('fsync')").Scan(&version, &fsync)
	return fmt.Sprintf("PostgreSQL %s (fsync %s)", version, fsync), err
}
