package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
)

// A worker has the lock and has seen that its order is to be debited.
type worker struct {
	client *distlock.Client
	lease  *distlock.Lease
}

// takeOrder waits for the lock on acc and then looks at the order.
func takeOrder(ctx context.Context, b distlock.Backend, acc *account, opts ...distlock.Option) (_ *worker, err error) {
	client, err := distlock.New(b, distlock.WithTTL(ttl), distlock.RequireFencing(distlock.FencingBestEffort))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = client.Close(ctx) // the first error is the one to tell
		}
	}()
	lease, err := client.Acquire(ctx, lockKey, opts...)
	if err != nil {
		return nil, err
	}
	switch paid, err := acc.isPaid(lease, orderID); {
	case err != nil:
		return nil, err
	case paid:
		return nil, errors.New("the order was debited before")
	case !lease.Valid():
		return nil, fmt.Errorf("too slow to tell the story: %w", lease.Err())
	}
	return &worker{client: client, lease: lease}, nil
}

// An ending is how the story came out.
type ending struct {
	a, b    distlock.Token
	late    error // of A's write after it woke
	release error // of A's lease
	balance int
}

// check compares e with how the story must end.
func (e ending) check(balance int, late error) error {
	switch {
	case e.b <= e.a:
		return fmt.Errorf("worker B's token %v is not larger than A's %v", e.b, e.a)
	case !errors.Is(e.late, late):
		return fmt.Errorf("worker A's late write got %v, want %v", e.late, late)
	case !errors.Is(e.release, distlock.ErrLost):
		return fmt.Errorf("worker A's release got %v, want %v", e.release, distlock.ErrLost)
	case e.balance != balance:
		return fmt.Errorf("the balance is %d, want %d", e.balance, balance)
	}
	return nil
}

func times(debited int) string {
	if debited == price {
		return "once"
	}
	return fmt.Sprintf("%d times", debited/price)
}
