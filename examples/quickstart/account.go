package main

import "github.com/distlock-go/distlock"

const (
	deposit = 100
	price   = 60
	orderID = "order-77"
	lockKey = "quickstart/account-42"
)

// A guard stands before a resource and refuses who comes with a token that is
// smaller than one it has seen. *distlock.Fence is a guard.
type guard interface {
	Advance(key string, t distlock.Token) error
	Do(key string, t distlock.Token, write func() error) error
}

// noGuard refuses nobody: a resource that trusts the lock alone.
type noGuard struct{}

func (noGuard) Advance(string, distlock.Token) error                    { return nil }
func (noGuard) Do(_ string, _ distlock.Token, write func() error) error { return write() }

// An account is the resource that the lock is about: a prepaid balance and the
// orders that were debited from it.
type account struct {
	guard   guard
	balance int
	paid    map[string]bool
}

func newAccount(g guard) *account {
	return &account{guard: g, balance: deposit, paid: make(map[string]bool)}
}

// isPaid tells whether order was debited. It shows the token before it reads,
// so that whoever held the lock before can change nothing after the read.
func (a *account) isPaid(lease *distlock.Lease, order string) (bool, error) {
	if err := a.guard.Advance(lease.Key(), lease.Token()); err != nil {
		return false, err
	}
	return a.paid[order], nil
}

// debit takes the price of order. The guard checks the token and lets the
// write through as one step.
func (a *account) debit(lease *distlock.Lease, order string) error {
	return a.guard.Do(lease.Key(), lease.Token(), func() error {
		a.balance -= price
		a.paid[order] = true
		return nil
	})
}
