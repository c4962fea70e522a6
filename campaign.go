package distlock

import (
	"context"
	"errors"
	"time"
)

const (
	// campaignPause comes after a term that was lost and after an acquire that
	// failed. It doubles with each that follows, up to maxCampaignPause, until
	// a term has lasted for one TTL.
	campaignPause    = 250 * time.Millisecond
	maxCampaignPause = 8 * time.Second
)

// Campaign runs fn whenever it leads: it acquires key through l, waiting for as
// long as it takes, and calls fn, in its own goroutine and as Do does. If the
// lease is lost it waits until fn has returned, pauses, and campaigns again;
// likewise after an acquire that failed. So at most one fn of a Campaign runs
// at a time, and each has a larger token than the one before, as far as the
// backend's Fencing level goes.
//
// The ctx that fn gets ends with ctx and when the lease does. That is before
// anybody else can lead, while the service keeps its data and its clock, but
// for a lock that was taken away there: the holder hears of that at its next
// renewal. What is not promised is that fn has stopped by then. One that runs
// on after its lease has ended is reported to Trace.Overrun, and only a Fence
// keeps its late writes out.
//
// Campaign returns
//   - what Do returns, when fn returned under a lease that had not been lost:
//     fn is done, or has given up;
//   - an error that matches ctx.Err(), when ctx ended while it did not lead,
//     and what Do returns, when it ended while fn ran;
//   - ErrClosed, joined to fn's error if fn ran, when the client was closed;
//   - ErrInvalid, at once.
//
// Every other failure is taken for a passing one, after which the campaign goes
// on: Trace.Campaigned is told of it, and of fn's error after a loss. Call Ping
// before to learn at start-up of what will not pass. A panic of fn and
// runtime.Goexit release the lease and end the campaign.
func Campaign(ctx context.Context, l Locker, key string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	if l == nil || fn == nil {
		return Do(ctx, l, key, fn, opts...)
	}
	c := &campaign{locker: l, key: key, opts: opts, next: campaignPause}
	c.client, _ = l.(*Client)
	for {
		err := c.term(ctx, fn)
		if c.isOver(ctx, err) {
			return err
		}
		c.pause(ctx, err)
	}
}

// A campaign is one call of Campaign. It belongs to one goroutine.
type campaign struct {
	locker Locker
	key    string
	opts   []Option
	client *Client       // whose trace is told; nil until it is known
	next   time.Duration // the next pause

	lease *Lease // of the last term; nil: it came to none
	ended error  // Err of that lease when fn returned
}

// term leads once, and returns what Do returns.
func (c *campaign) term(ctx context.Context, fn func(context.Context, *Lease) error) error {
	c.lease, c.ended = nil, nil
	err := Do(ctx, c.locker, c.key, func(ctx context.Context, lease *Lease) error {
		c.lease, c.client = lease, lease.client
		defer func() { c.ended = lease.Err() }()
		return fn(ctx, lease)
	}, c.opts...)
	if errors.Is(c.ended, ErrReleased) && c.client.isClosing() {
		err = errors.Join(err, c.client.fail("acquire", c.key, ErrClosed))
	}
	return err
}

// isOver reports whether the campaign ends with err.
func (c *campaign) isOver(ctx context.Context, err error) bool {
	switch {
	case ctx.Err() != nil:
		return true
	case c.lease == nil:
		return errors.Is(err, ErrInvalid) || errors.Is(err, ErrClosed)
	}
	return !errors.Is(c.ended, ErrLost)
}

// pause waits before the next term. The end of ctx and Close cut it short; the
// acquire that follows then says so.
func (c *campaign) pause(ctx context.Context, err error) {
	info := CampaignInfo{Key: c.key, Err: err}
	if l := c.lease; l != nil {
		info.Token, info.Held = l.hold.Token, c.client.now().Sub(l.granted)
		if info.Held >= l.hold.Terms.TTL {
			c.next = campaignPause
		}
	}
	info.Pause = jitter(c.next)
	c.next = min(2*c.next, maxCampaignPause)
	var closing chan struct{}
	if c.client != nil {
		closing = c.client.closing
		info.Backend = c.client.info.Name
		if f := c.client.trace.Campaigned; f != nil {
			f(ctx, info)
		}
	}
	timer := time.NewTimer(info.Pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-closing:
	}
}
