package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"
)

// A ledger has what each account was charged.
type ledger struct {
	rdb    *goredis.Client
	name   string // a hash: account to amount
	unique bool   // an account is charged once, whoever tries
}

func newLedger(rdb *goredis.Client, unique bool) *ledger {
	return &ledger{rdb: rdb, name: "invoices:" + rand.Text(), unique: unique}
}

// has reports whether the account was charged.
func (l *ledger) has(ctx context.Context, account int) (bool, error) {
	return l.rdb.HExists(ctx, l.name, strconv.Itoa(account)).Result()
}

// charge enters an amount. False without an error says that the constraint has
// discarded it.
func (l *ledger) charge(ctx context.Context, account, amount int) (bool, error) {
	if l.unique {
		return l.rdb.HSetNX(ctx, l.name, strconv.Itoa(account), amount).Result()
	}
	return true, l.rdb.HIncrBy(ctx, l.name, strconv.Itoa(account), int64(amount)).Err()
}

// sum returns how many accounts were charged, and with how much in all.
func (l *ledger) sum(ctx context.Context) (accounts, amount int, err error) {
	all, err := l.rdb.HVals(ctx, l.name).Result()
	for _, text := range all {
		n, bad := strconv.Atoi(text)
		if bad != nil {
			return 0, 0, fmt.Errorf("ledger: %w", bad)
		}
		amount += n
	}
	return len(all), amount, err
}

func (l *ledger) drop(ctx context.Context) error { return l.rdb.Del(ctx, l.name).Err() }
