package objectfence

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/internal/pause"
)

const (
	attempts  = 20
	firstWait = 5 * time.Millisecond
	longWait  = 250 * time.Millisecond
)

// repeat calls try until it is done or fails in a way that another attempt does
// not mend. After a conflict it waits, so that the other write comes to its end.
func repeat(ctx context.Context, try func() (done bool, err error)) error {
	var err error
	wait := firstWait
	for range attempts {
		var done bool
		done, err = try()
		conflict := errors.Is(err, ErrConflict)
		if done || !conflict && !errors.Is(err, ErrPrecondition) {
			return err
		}
		if !conflict {
			continue
		}
		if err := pause.For(ctx, wait/2+rand.N(wait)); err != nil {
			return err
		}
		wait = min(2*wait, longWait)
	}
	return err
}
