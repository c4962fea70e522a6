package fencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/distlock-go/distlock"
)

// rounds is how often a race is run.
const rounds = 12

// races has an old holder write as fast as it can while a new one takes over. From
// the return of Advance to the new holder's write the content must not change.
func races(ctx context.Context, b bench) error {
	for i := range rounds {
		b := bench{b.Harness, fmt.Sprint(b.key, i)}
		if err := b.race(ctx, i%2 == 0); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
	}
	return nil
}

func (b bench) race(ctx context.Context, advanced bool) error {
	old, young := b.open(), b.open()
	if advanced {
		if err := old.Advance(ctx, b.key, 5); err != nil {
			return err
		}
	}
	writing, taken := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() { // ends when it is refused, or should have been
		var err error
		for n, late := 0, 0; err == nil && late < 3; n++ {
			select {
			case <-taken:
				late++
			default:
			}
			err = old.Write(ctx, b.key, 5, fmt.Sprint("old ", n))
			if n == 1 || err != nil && n < 1 {
				close(writing)
			}
		}
		ended <- err
	}()
	<-writing
	err := is("Advance with 6", young.Advance(ctx, b.key, 6), nil)
	content, readErr := young.Read(ctx, b.key)
	close(taken)
	err = errors.Join(err, readErr, is("the old holder's last write", <-ended, distlock.ErrStale),
		b.holds(ctx, young, "the take-over", content),
		is("Write with 6", young.Write(ctx, b.key, 6, content+", young"), nil),
		is("Write with 5", old.Write(ctx, b.key, 5, "late"), distlock.ErrStale),
		b.holds(ctx, young, "its write", content+", young"))
	return err
}

// crowd is how many call at a time.
const crowd = 8

// all calls f for each of a crowd at the same time.
func all(f func(i int) error) error {
	errs := make([]error, crowd)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func first(ctx context.Context, b bench) error {
	err := all(func(i int) error {
		t := distlock.Token(i + 1)
		got := b.open().Advance(ctx, b.key, t)
		if t < crowd && errors.Is(got, distlock.ErrStale) {
			return nil
		}
		return is(fmt.Sprintf("Advance with %v", t), got, nil)
	})
	f := b.open()
	return errors.Join(err,
		is("the last but one", f.Write(ctx, b.key, crowd-1, "late"), distlock.ErrStale),
		is("the last", f.Write(ctx, b.key, crowd, "last"), nil),
		b.holds(ctx, f, "it", "last"))
}

func together(ctx context.Context, b bench) error {
	f := b.open()
	return all(func(i int) error {
		what := fmt.Sprintf("write %d", i)
		return is(what, f.Write(ctx, b.key, 5, what), nil)
	})
}
