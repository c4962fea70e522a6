package soak_test

import (
	"context"
	"math/rand/v2"
	"time"
)

// visit takes one lock, uses the resource and gives the lock back, all of it at random.
// It does not care whether the lease is valid: to keep a late holder out is the fence's
// work.
func (w *worker) visit(ctx context.Context) error {
	limits := []time.Duration{w.target.ttl / 100, w.target.ttl / 5, 3 * w.target.ttl}
	l := w.acquire(ctx, w.Habits.key(rand.IntN(w.Habits.Keys)), limits[rand.IntN(len(limits))], rand.IntN(3) == 0)
	if l == nil {
		return nil
	}
	entered, err := l.enter()
	if entered {
		took := w.target.ttl / 50
		if rand.IntN(20) == 0 {
			took = 2 * w.target.ttl // with several renewals
		}
		pause(ctx, rand.N(took))
		l.valid()
		_, err = l.write(l.element(), nil)
	}
	if err != nil {
		return err
	}
	l.valid()
	rctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rand.IntN(2) == 0 {
		cancel()
	}
	l.release(rctx)
	return nil
}

// sending is which part of a worker's time goes into the write itself.
const sending = 10

// add adds one element to one set, as a program does that keeps its sets in a store: it
// reads the set, works, and writes the set. If it heeds its lease it stops working when
// that ends, and looks once more before it writes; what comes to it while it writes,
// which takes a tenth of the time, it does not see.
func (w *worker) add(ctx context.Context) error {
	l := w.acquire(ctx, w.Habits.key(rand.IntN(w.Habits.Keys)), 10*w.target.ttl, false)
	if l == nil {
		return nil
	}
	entered, err := l.enter()
	if err != nil {
		return err
	}
	if entered {
		took := w.target.ttl / 4
		w.toil(l, took*(sending-1)/sending)
		if !w.Habits.Heeds || l.valid() {
			pause(context.Background(), took/sending)
			if _, err := l.write(l.element(), l.set); err != nil {
				return err
			}
		}
	}
	l.release(context.Background())
	return nil
}

// toil works for d, or until the lease ends for a worker that heeds that.
func (w *worker) toil(l *held, d time.Duration) {
	ctx := context.Background()
	if w.Habits.Heeds {
		ctx = l.Context(ctx)
	}
	pause(ctx, d)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
