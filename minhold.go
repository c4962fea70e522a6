package distlock

import (
	"context"
	"fmt"
	"time"
)

// WithMinHold keeps the key taken for at least d from the request that took
// it, so that a short job runs once in a window of time: a release before that
// tells the server to free the key by itself when d is over, and the process
// may end. The lease is over at once, as after every release. It does not
// make a lease last. Where one is lost before its release, the key is kept all the
// same if this process lives and reaches the server in time to tell it; after a crash,
// or cut off, it is free when its lifetime on the server ends, as always, and the job
// may then be run again. A TTL as long as the window covers that too.
//
// D is counted by the server's clock from the release on. Choose it shorter
// than the period of a schedule, half of it for example, or the run that comes
// next finds the key taken by the latencies of the one before.
//
// It is ErrInvalid where a grant lives no longer than its session, since that
// ends with the process (Info.SessionPerTerms), and where d is more than the
// backend's longest TTL. There, hold the lease for the whole window.
func WithMinHold(d time.Duration) Option {
	return Option{name: "WithMinHold", apply: func(s *settings) error {
		if d <= 0 {
			return Invalid("min-hold", d, "more than 0")
		}
		s.minHold = d
		return nil
	}}
}

// checkMinHold reports whether b can keep a key for s.minHold without a client.
func (s *settings) checkMinHold(b Backend) error {
	if s.minHold == 0 {
		return nil
	}
	if i := b.Info(); i.SessionPerTerms {
		return Invalid("min-hold", s.minHold, "unset: a grant of "+i.Name+" ends with its session")
	}
	if s.minHold <= s.asked.TTL {
		return nil
	}
	if _, err := b.Check(Terms{TTL: s.minHold}); err != nil {
		return fmt.Errorf("min-hold: %w", err)
	}
	return nil
}

// free makes the request of giveUp: to free l's key at once, or by itself when the
// min-hold is over.
func (l *Lease) free(ctx context.Context) error {
	left := l.minUntil.Sub(l.client.now())
	if left <= 0 {
		return l.session.api.Release(ctx, l.hold)
	}
	h := l.hold
	h.Terms = Terms{TTL: left}
	results := l.session.renewer.Renew(ctx, []Hold{h})
	if len(results) != 1 {
		return fmt.Errorf("backend %s: %d results for 1 renewal", l.client.info.Name, len(results))
	}
	return results[0]
}
