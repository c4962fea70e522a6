package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// A guard stands where the protected resource would: two holders at a time, or a token
// that is not larger than the last one, are errors. Its fields are atomic because
// nothing but the lock under test keeps the holders apart.
type guard struct {
	inside atomic.Bool
	last   atomic.Uint64
}

// errUnsafe is what every error of a guard matches.
var errUnsafe = errors.New("mutual exclusion is broken")

// enter is called after the grant. The floor's token is 0.
func (g *guard) enter(t distlock.Token) error {
	if !g.inside.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: two holders at a time", errUnsafe)
	}
	if t == 0 {
		return nil
	}
	if last := g.last.Swap(uint64(t)); last >= uint64(t) {
		return fmt.Errorf("%w: token %d came after %d", errUnsafe, t, last)
	}
	return nil
}

// ended reports whether err says no more than that ctx is over.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && !errors.Is(err, errUnsafe)
}

// leave is called before the release.
func (g *guard) leave() error {
	if !g.inside.CompareAndSwap(true, false) {
		return fmt.Errorf("%w: the key had no holder", errUnsafe)
	}
	return nil
}
