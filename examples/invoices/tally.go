package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A tally is what a round has seen.
type tally struct {
	mu      sync.Mutex // guards all below but took
	locks   int
	stalls  int
	refused int   // charges that the guard refused
	skipped int   // deliveries of accounts that were charged already
	spent   times // by workers that were not stopped

	took time.Duration
}

// times are what one job took, or all.
type times struct {
	locking time.Duration // to take and to give back the lock
	booking time.Duration // to read and to write the ledger
}

// count takes in one job.
func (t *tally) count(spent times, stalled, entered, charged bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.locks++
	if stalled {
		t.stalls++
	} else {
		t.spent.locking += spent.locking
		t.spent.booking += spent.booking
	}
	switch {
	case charged:
		t.skipped++
	case !entered:
		t.refused++
	}
}

// showProgress prints a line each second until stop is called.
func (t *tally) showProgress(out io.Writer, of int) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.mu.Lock()
				fmt.Fprintf(out, "  %d of %d\n", t.locks, of)
				t.mu.Unlock()
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// average is what one of the jobs took.
func (t *tally) average(all time.Duration) time.Duration {
	return (all / time.Duration(max(t.locks-t.stalls, 1))).Round(time.Microsecond)
}

// judge prints the summary, and returns an error if the books are not as they must
// be. It deletes the ledger.
func (r *round) judge(ctx context.Context, out io.Writer) error {
	accounts, amount, err := r.ledger.sum(ctx)
	if err = errors.Join(err, r.ledger.drop(ctx)); err != nil {
		return err
	}
	t := &r.tally
	fmt.Fprintf(out, "  %d locks in %.1f s, by %d workers at a time\n", t.locks, t.took.Seconds(), workers)
	fmt.Fprintf(out, "  on average: %v to take and give back the lock, %v to read and write the ledger\n",
		t.average(t.spent.locking), t.average(t.spent.booking))
	fmt.Fprintf(out, "  %d workers were stopped past their leases; %d late charges were refused\n", t.stalls, t.refused)
	want := r.accounts * price
	fmt.Fprintf(out, "  charged: %d accounts, %d of %d; too much: %d\n", accounts, amount, want, amount-want)
	switch excess := (amount - want) / price; {
	case accounts != r.accounts:
		return fmt.Errorf("%d of %d accounts were charged", accounts, r.accounts)
	case t.stalls == 0:
		return errors.New("no worker was stopped: nothing was shown")
	case r.guarded && (amount != want || t.refused < t.stalls):
		return fmt.Errorf("the books do not balance: %d too much, %d of %d late charges refused", amount-want, t.refused, t.stalls)
	case !r.guarded && excess < t.stalls:
		return fmt.Errorf("%d doubles without the %s, want one at least for each of %d stopped workers", excess, r.guard, t.stalls)
	}
	return nil
}
