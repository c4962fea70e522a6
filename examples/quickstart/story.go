package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/distlock-go/distlock"
)

// ttl is short so that you need not wait; 30 s is the default.
const ttl = 500 * time.Millisecond

// tell lets two workers loose on one account. They share nothing but the lock
// service and the account, as two processes would.
func tell(ctx context.Context, b distlock.Backend, g guard, out io.Writer) (e ending, err error) {
	say := func(who, format string, args ...any) {
		fmt.Fprintf(out, "  "+who+"  "+format+"\n", args...)
	}
	acc := newAccount(g)

	// A process that is paused renews nothing. One half of this process cannot
	// be paused, so worker A goes without renewal, and without any other step
	// until it wakes.
	a, err := takeOrder(ctx, b, acc, distlock.WithoutRenewal())
	if err != nil {
		return e, fmt.Errorf("worker A: %w", err)
	}
	defer a.client.Close(ctx)
	say("A", "has the lock, token %v: finds the order unpaid and its lease valid", a.lease.Token())
	say("A", "is paused right before it writes; its lease of %v runs out", ttl)

	start := time.Now()
	w, err := takeOrder(ctx, b, acc)
	if err != nil {
		return e, fmt.Errorf("worker B: %w", err)
	}
	defer w.client.Close(ctx)
	waited := time.Since(start).Round(100 * time.Millisecond)
	say("B", "has the lock after %v, token %v: finds the order unpaid", waited, w.lease.Token())
	if err := acc.debit(w.lease, orderID); err != nil {
		return e, fmt.Errorf("worker B: debit: %w", err)
	}
	say("B", "debits %d: the balance is %d", price, acc.balance)
	if err := w.lease.Release(ctx); err != nil {
		return e, fmt.Errorf("worker B: %w", err)
	}

	e = ending{a: a.lease.Token(), b: w.lease.Token(), late: acc.debit(a.lease, orderID)}
	switch {
	case e.late == nil:
		say("A", "wakes and writes, still sure of its lock: debits %d", price)
	case errors.Is(e.late, distlock.ErrStale):
		say("A", "wakes and writes: refused, %v is smaller than %v", e.a, e.b)
	default:
		say("A", "wakes and writes: %v", e.late)
	}
	e.release, e.balance = a.lease.Release(ctx), acc.balance
	say("=", "debited %s, the balance is %d", times(deposit-e.balance), e.balance)
	return e, nil
}
