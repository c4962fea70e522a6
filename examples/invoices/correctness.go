package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// correctness is the case with locks on etcd and the ledger in Postgres, with a
// fence at the ledger or without one.
func correctness(endpoints, url string) act {
	return func(ctx context.Context, r *round) (close func(), err error) {
		etcd, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(endpoints, ","), DialKeepAliveTime: 10 * time.Second})
		if err != nil {
			return nil, err
		}
		r.title, r.guard = "correctness, on etcd and Postgres", "fence"
		r.connect = func() (*distlock.Client, error) {
			return distlock.New(etcdlock.New(etcd, nil), distlock.WithTTL(ttl),
				distlock.RequireFencing(distlock.FencingDurable))
		}
		t, err := newTable(ctx, url, r.accounts, r.guarded)
		if err != nil {
			return nil, errors.Join(err, etcd.Close())
		}
		r.ledger = t
		return func() { t.pool.Close(); etcd.Close() }, nil
	}
}

// A table is a ledger in Postgres, in a schema of its own. Its fence takes tokens of
// etcd: the check and the write are one transaction.
type table struct {
	pool   *pgxpool.Pool
	schema string
	fence  *pglock.Fence
	fenced bool
}

func newTable(ctx context.Context, url string, accounts int, fenced bool) (*table, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	t := &table{schema: "invoices_" + strings.ToLower(rand.Text()), fenced: fenced}
	t.fence = pglock.NewFence(pglock.FenceOptions{Source: "etcd", Schema: t.schema})
	config.MaxConns = workers
	config.ConnConfig.RuntimeParams["search_path"] = t.schema
	if t.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	_, err = t.pool.Exec(ctx, t.fence.Schema()+fmt.Sprintf(`;
		CREATE TABLE account (id int PRIMARY KEY, charged int NOT NULL DEFAULT 0);
		INSERT INTO account SELECT generate_series(0, %d)`, accounts-1))
	if err != nil {
		t.pool.Close()
	}
	return t, err
}

// charged is what a new holder asks first, so it raises the mark: from then on no
// earlier holder writes.
func (t *table) charged(ctx context.Context, account int, l *distlock.Lease) (yes bool, err error) {
	err = t.check(ctx, l, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT charged > 0 FROM account WHERE id = $1", account).Scan(&yes)
	})
	return yes, err
}

func (t *table) charge(ctx context.Context, account, amount int, l *distlock.Lease) (entered bool, err error) {
	err = t.check(ctx, l, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE account SET charged = charged + $2 WHERE id = $1", account, amount)
		return err
	})
	if errors.Is(err, distlock.ErrStale) {
		return false, nil
	}
	return err == nil, err
}

// check runs f in a transaction that is carried out unless l's token is stale.
func (t *table) check(ctx context.Context, l *distlock.Lease, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if t.fenced {
			if err := t.fence.Advance(ctx, tx, l.Key(), l.Token()); err != nil {
				return err
			}
		}
		return f(tx)
	})
}

func (t *table) sum(ctx context.Context) (accounts, amount int, err error) {
	err = t.pool.QueryRow(ctx, "SELECT count(*) FILTER (WHERE charged > 0), sum(charged) FROM account").Scan(&accounts, &amount)
	return accounts, amount, err
}

func (t *table) drop(ctx context.Context) error {
	_, err := t.pool.Exec(ctx, "DROP SCHEMA "+pgx.Identifier{t.schema}.Sanitize()+" CASCADE")
	return err
}
