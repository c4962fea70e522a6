package main

import (
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

// enter is called after the grant. The floor's token is 0.
func (g *guard) enter(t distlock.Token) error {
	if !g.inside.CompareAndSwap(false, true) {
		return errors.New("two holders at a time")
	}
	if t == 0 {
		return nil
	}
	if last := g.last.Swap(uint64(t)); last >= uint64(t) {
		return fmt.Errorf("token %d came after %d", t, last)
	}
	return nil
}

// leave is called before the release.
func (g *guard) leave() error {
	if !g.inside.CompareAndSwap(true, false) {
		return errors.New("the key had no holder")
	}
	return nil
}
