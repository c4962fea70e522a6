package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

const (
	workers = 20
	price   = 7
	ttl     = 5 * time.Second
)

// A ledger has what each account was charged. The lease is what the caller holds.
type ledger interface {
	// charged reports whether the account was charged: a new holder's first read.
	charged(ctx context.Context, account int, l *distlock.Lease) (bool, error)
	// charge enters an amount. False without an error says that the guard has
	// refused it.
	charge(ctx context.Context, account, amount int, l *distlock.Lease) (bool, error)
	// sum returns how many accounts were charged, and with how much in all.
	sum(ctx context.Context) (accounts, amount int, err error)
	drop(ctx context.Context) error
}

// A round bills all accounts once.
type round struct {
	name     string // begins the names of its locks
	title    string
	guard    string // what keeps late charges out
	guarded  bool   // and whether it is there
	connect  func() (*distlock.Client, error)
	ledger   ledger
	accounts int
	jobs     chan job
	open     atomic.Int64 // jobs that are not done
	tally
}

// A job is one delivery of an account to a worker. A queue delivers again what a
// worker has not confirmed in time, so an account can come more than once.
type job struct {
	account int
	done    chan struct{} // closed when it is done; nil: nobody waits for it
}

// ping tells of a lock service that does not answer.
func (r *round) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client, err := r.connect()
	if err != nil {
		return err
	}
	return errors.Join(client.Ping(ctx), client.Close(ctx))
}

// bill sends out all jobs and returns when they are done.
func (r *round) bill(ctx context.Context, out io.Writer) error {
	if err := r.ping(ctx); err != nil {
		return err
	}
	r.jobs = make(chan job, r.accounts+workers) // room for one job more of each worker
	r.open.Store(int64(r.accounts))
	for account := range r.accounts {
		r.jobs <- job{account: account}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	var staff sync.WaitGroup
	for i := range workers {
		staff.Go(func() {
			if err := r.work(ctx, i%2 == 0); err != nil {
				cancel(err)
			}
		})
	}
	stop := r.showProgress(out, r.accounts)
	staff.Wait()
	stop()
	r.took = time.Since(start)
	return context.Cause(ctx)
}

// work is one worker: a process with a client of its own. One that is slow is
// stopped once, in the middle of an invoice, for longer than its lease.
func (r *round) work(ctx context.Context, slow bool) error {
	client, err := r.connect()
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	for {
		select {
		case j, ok := <-r.jobs:
			if !ok {
				return nil
			}
			stall := slow && j.done == nil
			slow = slow && !stall
			if err := r.invoice(ctx, client, j, stall); err != nil {
				return fmt.Errorf("account %d: %w", j.account, err)
			}
			r.finish(j)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *round) finish(j job) {
	if j.done != nil {
		close(j.done)
	}
	if r.open.Add(-1) == 0 {
		close(r.jobs)
	}
}

// invoice charges the account of j, unless it was charged before.
func (r *round) invoice(ctx context.Context, c *distlock.Client, j job, stall bool) error {
	var opts []distlock.Option
	if stall {
		opts = append(opts, distlock.WithoutRenewal()) // a process that is stopped renews nothing
	}
	var t times
	start := time.Now()
	var lease *distlock.Lease
	err := insist(ctx, func() (err error) {
		lease, err = c.Acquire(ctx, fmt.Sprintf("invoices-%s/%d", r.name, j.account), opts...)
		return err
	})
	t.locking = time.Since(start)
	if err != nil {
		return err
	}
	start = time.Now()
	charged, err := r.ledger.charged(ctx, j.account, lease)
	t.booking = time.Since(start)
	if err == nil && stall {
		err = r.beStopped(ctx, lease, j.account)
	}
	entered := false
	if err == nil && !charged {
		start = time.Now()
		entered, err = r.ledger.charge(ctx, j.account, price, lease)
		t.booking += time.Since(start)
	}
	start = time.Now()
	released := insist(ctx, func() error {
		err := lease.Release(ctx)
		if errors.Is(err, distlock.ErrLost) {
			return nil // stopped for too long; the ledger knows what to do with what came late
		}
		return err
	})
	t.locking += time.Since(start)
	r.count(t, stall, entered, charged)
	return errors.Join(err, released)
}

// insist calls f until it returns nil, for a minute: a lock service may be busy, or
// about to choose a leader.
func insist(ctx context.Context, f func() error) error {
	for end := time.Now().Add(time.Minute); ; {
		err := f()
		if err == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// beStopped returns when the lease is over and somebody else has done the account.
func (r *round) beStopped(ctx context.Context, lease *distlock.Lease, account int) error {
	<-lease.Done()
	again := job{account: account, done: make(chan struct{})}
	r.open.Add(1)
	r.jobs <- again
	select {
	case <-again.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
