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
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

const (
	workers = 20
	price   = 7
	ttl     = time.Second
)

// A round bills all accounts once.
type round struct {
	rdb      *goredis.Client
	ledger   *ledger
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

// bill sends out all jobs and returns when they are done.
func (r *round) bill(ctx context.Context, out io.Writer) error {
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
	if err := context.Cause(ctx); err != nil {
		return errors.Join(err, r.ledger.drop(context.WithoutCancel(ctx)))
	}
	return nil
}

// work is one worker: a process with a client of its own. One that is slow is
// stopped once, in the middle of an invoice, for longer than its lease.
func (r *round) work(ctx context.Context, slow bool) error {
	client, err := distlock.New(redislock.New(r.rdb, nil), distlock.WithTTL(ttl))
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
	start := time.Now()
	lease, err := c.Acquire(ctx, fmt.Sprintf("%s/%d", r.ledger.name, j.account), opts...)
	locking := time.Since(start)
	if err != nil {
		return err
	}
	charged, err := r.ledger.has(ctx, j.account)
	if err == nil && stall {
		err = r.beStopped(ctx, lease, j.account)
	}
	entered := false
	if err == nil && !charged {
		entered, err = r.ledger.charge(ctx, j.account, price)
	}
	start = time.Now()
	released := lease.Release(ctx)
	r.count(locking+time.Since(start), stall, entered, charged)
	if errors.Is(released, distlock.ErrLost) {
		released = nil // stopped for too long; the ledger knows what to do with what came late
	}
	return errors.Join(err, released)
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
