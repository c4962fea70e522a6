package distlock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// A Trace is a set of functions that are told what happens to locks, in the
// manner of net/http/httptrace. Any may be nil. They are called outside of all
// locks, concurrently, possibly late, must not panic and must not wait for
// Close; one that blocks
// holds up the call it reports on, or the background reports after it, never
// the signal of a loss. Errors come as the caller gets them. Keys can identify
// customers: think before they become metric labels.
type Trace struct {
	// Acquired: an Acquire or a TryAcquire has ended, in a lease or in Err.
	Acquired func(ctx context.Context, i AcquireInfo)
	// Attempted: one request for the key, or one stay in the service's queue,
	// has ended within an Acquire or a TryAcquire.
	Attempted func(ctx context.Context, i AttemptInfo)
	// Renewed: one renewal of a lease, or of a session that keeps leases, has
	// been answered or has failed.
	Renewed func(i RenewInfo)
	// Warned: renewals of a lease have failed for a third of its TTL. In order
	// with Lost. See WithLossWarning.
	Warned func(i WarnInfo)
	// Lost: a lease has ended without being released. One at a time, in order.
	Lost func(i LostInfo)
	// Released: a Release has ended, the caller's, Do's or Close's.
	Released func(ctx context.Context, i ReleaseInfo)
	// Broken: a Break has ended. It is told on the client of the operator; the
	// holder's is told by Lost.
	Broken func(ctx context.Context, i BreakInfo)
	// CleanedUp: what an unknown outcome may have left on the server has been
	// deleted, or the attempt has failed and will be made again until the
	// server-side lifetime is over.
	CleanedUp func(i CleanupInfo)
	// Overrun: a function of Do or Campaign has not returned a second after its
	// lease ended; and again when it has. It is in danger of doing what the
	// next holder does.
	Overrun func(i OverrunInfo)
	// Campaigned: a Campaign goes on, after a term that was lost or an acquire
	// that failed.
	Campaigned func(ctx context.Context, i CampaignInfo)
}

// AcquireInfo reports on a whole Acquire or TryAcquire.
type AcquireInfo struct {
	Backend, Key string
	Wait         bool          // Acquire, not TryAcquire
	Start        time.Time     // of the call
	Duration     time.Duration // of the call, waiting included
	Waited       time.Duration // of an Acquire: since it was told that the key is held, or took its place in line
	Attempts     int           // that were made, also those that did not get as far as a request
	Token        Token         // 0 if Err is not nil
	Err          error
}

// AttemptInfo reports on one attempt at a key.
type AttemptInfo struct {
	Backend, Key string
	Number       int           // 1 for the first of its call
	Duration     time.Duration // of the attempt
	Retry        bool          // the call goes on after this; else it returns what Err says
	Err          error         // not wrapped in *Error
}

// RenewInfo reports on one renewal.
type RenewInfo struct {
	Backend string
	Key     string        // empty for a session that keeps many leases
	Took    time.Duration // until it was answered or given up
	Late    time.Duration // sent this long after it was due; negative if before, with others
	Left    time.Duration // validity left when it was answered, before it counted
	Err     error         // raw, as the backend gave it
}

// WarnInfo reports on a lease that will be lost unless a renewal succeeds soon.
type WarnInfo struct {
	Backend, Key string
	Token        Token
	Left         time.Duration // validity left
	Err          error         // of the last renewal that failed, raw; nil if none was answered at all
}

// LostInfo reports on a lease that was lost.
type LostInfo struct {
	Backend, Key string
	Token        Token
	Held         time.Duration // since the grant
	Cause        LossCause
	Err          error // what Lease.Err returns
}

// ReleaseInfo reports on one try to release.
type ReleaseInfo struct {
	Backend, Key string
	Token        Token
	Held         time.Duration // from the grant to the call
	Ended        bool          // the lease was valid until this call; each lease ends by one such call or by Lost
	Duration     time.Duration // of the call
	Err          error
}

// BreakInfo reports on one Break.
type BreakInfo struct {
	Backend, Key string
	Token        Token         // that the caller gave
	Delay        time.Duration // for which nobody gets the key
	Duration     time.Duration // of the call
	Err          error         // nil: the grant was ended
}

// CleanupInfo reports on one try to clean up after an unknown outcome.
type CleanupInfo struct {
	Backend, Key string
	Err          error // nil: deleted, or nothing was there
}

// OverrunInfo reports on a function that runs on after its lease.
type OverrunInfo struct {
	Backend, Key string
	Token        Token
	Past         time.Duration // since the lease has ended
	Returned     bool          // the function has returned; this is the last word
	Err          error         // what Lease.Err returns
}

// CampaignInfo reports on a term of a Campaign after which it goes on.
type CampaignInfo struct {
	Backend, Key string
	Token        Token         // of the term; 0 if it came to none
	Held         time.Duration // from the grant until fn had returned and the lease was given up; 0 if it came to none
	Pause        time.Duration // until the next acquire
	Err          error         // what Do returned: fn's error and ErrLost, or why the acquire failed
}

// report has f called, by one goroutine however many reports there are at a
// time: of losses, and of leases in danger. c.mu is held.
func (c *Client) report(f func()) {
	c.reports = append(c.reports, f)
	if !c.reporting {
		c.reporting = true
		c.spawn(c.reporter)
	}
}

// reporter is that goroutine; it ends when all is told.
func (c *Client) reporter() {
	c.mu.Lock()
	for len(c.reports) > 0 {
		reports := c.reports
		c.reports = nil
		c.unlock()
		for _, f := range reports {
			f()
		}
		c.mu.Lock()
	}
	c.reporting = false
	c.unlock()
}

// LogTrace returns a Trace that logs what no caller is told by an error of its
// own: losses, leases in danger, locks that were broken, overruns, failed terms of a campaign, failed renewals and
// clean-ups as warnings, and what goes
// well as debug. Keys are logged, owner ids are not.
func LogTrace(log *slog.Logger) *Trace {
	warn, debug := slog.LevelWarn, slog.LevelDebug
	ctx := context.Background()
	return &Trace{
		Acquired: func(ctx context.Context, i AcquireInfo) {
			if i.Err == nil {
				log.Log(ctx, debug, "lock acquired", "backend", i.Backend, "key", i.Key,
					"token", uint64(i.Token), "took", i.Duration, "attempts", i.Attempts)
			}
		},
		Attempted: func(ctx context.Context, i AttemptInfo) {
			if i.Retry && !errors.Is(i.Err, ErrHeld) {
				log.Log(ctx, warn, "lock attempt failed", "backend", i.Backend, "key", i.Key,
					"attempt", i.Number, "err", i.Err)
			}
		},
		Renewed: func(i RenewInfo) {
			if i.Err != nil {
				log.Log(ctx, warn, "lock renewal failed", "backend", i.Backend, "key", i.Key,
					"left", i.Left, "err", i.Err)
			}
		},
		Warned: func(i WarnInfo) {
			log.Log(ctx, warn, "lock in danger", "backend", i.Backend, "key", i.Key,
				"token", uint64(i.Token), "left", i.Left, "err", i.Err)
		},
		Lost: func(i LostInfo) {
			log.Log(ctx, warn, "lock lost", "backend", i.Backend, "key", i.Key,
				"token", uint64(i.Token), "held", i.Held, "cause", i.Cause.String(), "err", i.Err)
		},
		Released: func(ctx context.Context, i ReleaseInfo) {
			if i.Err == nil {
				log.Log(ctx, debug, "lock released", "backend", i.Backend, "key", i.Key,
					"token", uint64(i.Token), "held", i.Held)
			}
		},
		Broken: func(ctx context.Context, i BreakInfo) {
			if i.Err == nil {
				log.Log(ctx, warn, "lock broken by force", "backend", i.Backend, "key", i.Key,
					"token", uint64(i.Token), "delay", i.Delay)
			}
		},
		CleanedUp: func(i CleanupInfo) {
			if i.Err != nil {
				log.Log(ctx, warn, "lock clean-up failed", "backend", i.Backend, "key", i.Key, "err", i.Err)
			}
		},
		Overrun: func(i OverrunInfo) {
			log.Log(ctx, warn, "lock holder runs on after its lease", "backend", i.Backend, "key", i.Key,
				"token", uint64(i.Token), "past", i.Past, "returned", i.Returned, "err", i.Err)
		},
		Campaigned: func(ctx context.Context, i CampaignInfo) {
			log.Log(ctx, warn, "lock campaign goes on", "backend", i.Backend, "key", i.Key,
				"token", uint64(i.Token), "held", i.Held, "pause", i.Pause, "err", i.Err)
		},
	}
}
