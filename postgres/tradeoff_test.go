package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
)

// Each way of the example debits once for each time that it says so, and never too much.
func TestTradeOff(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	migrate(t, pool, `CREATE TABLE IF NOT EXISTS example_account (id text PRIMARY KEY, balance int NOT NULL,
		fence bigint NOT NULL DEFAULT 0, version int NOT NULL DEFAULT 0)`)
	c := client(t, pool, fresh())
	for name, debit := range map[string]func(ctx context.Context, id string, amount int) error{
		"a lease, with a fence": func(ctx context.Context, id string, n int) error { return debitLease(ctx, c, pool, id, n) },
		"the transaction's own": func(ctx context.Context, id string, n int) error { return debitTx(ctx, pool, id, n) },
		"SELECT FOR UPDATE":     func(ctx context.Context, id string, n int) error { return debitRow(ctx, pool, id, n) },
		"a version, no lock":    func(ctx context.Context, id string, n int) error { return debitVersion(ctx, pool, id, n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := distlock.NewOwner().Text()
			exec(t, pool, "INSERT INTO example_account VALUES ($1, 100)", id)
			var wg sync.WaitGroup
			poor := make(chan struct{}, 40)
			for range 4 {
				wg.Go(func() {
					for range 10 { // 40 debits of 3: 33 of them find the money
						err := debit(t.Context(), id, 3)
						if errors.Is(err, errPoor) {
							poor <- struct{}{}
						} else if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			var balance int
			is(t, "the balance", pool.QueryRow(t.Context(), "SELECT balance FROM example_account WHERE id = $1", id).Scan(&balance))
			if balance != 1 || len(poor) != 7 {
				t.Errorf("the balance is %d and %d were refused, want 1 and 7", balance, len(poor))
			}
		})
	}
}
