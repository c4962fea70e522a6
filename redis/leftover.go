package redis

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
)

// A copy of a request that was given up for another may arrive late, when the
// grant it repeats is over, and then take the key for nobody. The pauses after
// which its owner is deleted again stay under a second together.
var copyArrives = [...]time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond}

// closingBound is how long a session that is being closed waits for what is given
// back.
const closingBound = time.Second

// forget gives up what a late copy of the request for h may take. It returns
// at once; Close has it done once more, and for the last time.
func (s *session) forget(h distlock.Hold) {
	h.State = nil
	s.lane.active.Start(func() { // ends after the last pause, or with Close
		for _, pause := range copyArrives {
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-s.closing.Done():
				timer.Stop()
			}
			s.giveBack(h)
			if s.closing.Err() != nil {
				return
			}
		}
	})
}

// giveBack releases a grant that nobody waits for. Once Close has begun it takes no
// longer than closingBound.
func (s *session) giveBack(h distlock.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), rediscall.Bound)
	defer cancel()
	defer context.AfterFunc(s.closing, func() { time.AfterFunc(closingBound, cancel) })()
	_ = s.release(ctx, h) // the server's expiry does the rest
}

// promptly runs f and returns its error, or ctx's if that ends before.
func promptly(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }() // ends with f, and that by the time-outs of the client: see bounded
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
