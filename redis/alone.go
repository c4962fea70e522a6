package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// aloneBound is how long a call that is sent by its caller waits for the
	// answer, and so how late it may notice the end of its ctx.
	aloneBound = 250 * time.Millisecond
	// aloneAgain is how long after a failure no call is sent so.
	aloneAgain = time.Second
)

// alone is the short way of a lane: a call that finds it idle, with more time
// left than the bound, is sent by its caller itself. To hand it to a goroutine
// and the answer back costs a fifth of a round trip over loopback, most of it
// to wake a second thread that finds nothing to do. The price is that the
// caller cannot leave before the bound; so the short way is closed for a while
// after each failure, and as long as round trips are not much shorter.
type alone struct {
	client Client // with the bound as time-out; nil: there is no short way
	bound  time.Duration
	closed time.Time // until when; guarded by lane.mu
	watch  watch
}

// errStalled says that the bound has passed without an answer. The outcome is
// unknown; the caller may ask again the long way.
var errStalled = errors.New("no answer at once")

// newAlone returns the short way for client, if it has one: it takes a client
// with time-outs of its own that shares the user's connections.
func newAlone(client Client) alone {
	c, ok := client.(*goredis.Client)
	if !ok {
		return alone{}
	}
	if own := c.Options().ReadTimeout; own > 0 && own <= aloneBound {
		return alone{} // a failure would be the user's own decision
	}
	return alone{client: c.WithTimeout(aloneBound), bound: aloneBound}
}

// goAlone returns a context if the caller is to send its call itself, with that, and
// else nil. The caller has then entered the lane, and sendAlone leaves it.
func (l *lane) goAlone(ctx context.Context) *patience {
	if took := time.Duration(l.took.Load()); l.alone.client == nil || took == 0 || took > l.alone.bound/4 {
		return nil // a slow server is not to be taken for a stuck connection
	}
	now := time.Now()
	if end, ok := ctx.Deadline(); ok && end.Sub(now) < l.alone.bound || ctx.Err() != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy > 0 || now.Before(l.alone.closed) {
		return nil
	}
	l.busy++
	return l.begin(ctx, now)
}

// sendAlone sends cmd, and lets the lane's goroutine take over what has queued
// up meanwhile.
func (l *lane) sendAlone(ctx context.Context, p *patience, cmd rediscall.Command) error {
	start := time.Now()
	_ = l.alone.client.Process(p, cmd)
	l.took.Store(int64(time.Since(start)))
	err := cmd.Err()
	failed := isTimeout(err) || redisreply.IsBroken(err)
	l.mu.Lock()
	l.alone.watch.now = nil
	if failed {
		l.alone.closed = time.Now().Add(aloneAgain)
	}
	if len(l.queue) > 0 {
		l.active.Start(l.run) // it leaves the lane for us
	} else {
		l.busy--
	}
	l.mu.Unlock()
	if isTimeout(err) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errStalled, err)
	}
	return err
}
