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
	mu        sync.Mutex // guards all below but took
	locks     int
	stalls    int
	discarded int // charges that the constraint refused
	skipped   int // deliveries of accounts that were charged already
	locking   time.Duration

	took time.Duration
}

// count takes in one job.
func (t *tally) count(locking time.Duration, stalled, entered, charged bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.locks++
	if stalled {
		t.stalls++
	} else {
		t.locking += locking
	}
	switch {
	case charged:
		t.skipped++
	case !entered:
		t.discarded++
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

// judge prints the summary, and returns an error if the books are not as they must
// be. It deletes the ledger.
func (r *round) judge(ctx context.Context, unique bool, out io.Writer) error {
	accounts, amount, err := r.ledger.sum(ctx)
	if err = errors.Join(err, r.ledger.drop(ctx)); err != nil {
		return err
	}
	t := &r.tally
	fmt.Fprintf(out, "  %d locks in %.1f s; to take and give back one: %v on average, while %d workers shared them\n",
		t.locks, t.took.Seconds(), (t.locking / time.Duration(max(t.locks-t.stalls, 1))).Round(time.Microsecond), workers)
	fmt.Fprintf(out, "  %d workers were stopped past their leases; %d late charges were discarded\n", t.stalls, t.discarded)
	want := r.accounts * price
	fmt.Fprintf(out, "  charged: %d accounts, %d of %d; too much: %d\n", accounts, amount, want, amount-want)
	switch excess := (amount - want) / price; {
	case accounts != r.accounts:
		return fmt.Errorf("%d of %d accounts were charged", accounts, r.accounts)
	case t.stalls == 0:
		return errors.New("no worker was stopped: nothing was shown")
	case unique && (excess != 0 || t.discarded < t.stalls):
		return fmt.Errorf("the books do not balance: %d too much, %d of %d doubles discarded", amount-want, t.discarded, t.stalls)
	case !unique && excess < t.stalls:
		return fmt.Errorf("%d doubles without the constraint, want one at least for each of %d stopped workers", excess, t.stalls)
	}
	return nil
}
