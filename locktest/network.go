package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
)

// again is how long a client behind a link that was restored may take for what
// the library promises within a second.
func (r *row) again() time.Duration { return soon + r.h.Reconnect }

func acquireReplyLost(r *row) {
	a, link := r.linked(r.long())
	b := r.lasting()
	r.release(r.acquire(a, r.key+"/warm-up"))
	for name, f := range acquirers(a) {
		key := r.key + "/" + name
		link.SwallowReplies()
		start := time.Now()
		var l *distlock.Lease
		var err error
		r.returns(name+" without an answer", r.patience(), func() { l, err = f(r.within(slack/2), key) })
		if l != nil || err == nil {
			r.Fatalf("%s without an answer: got %v, %v; want nil and an error", name, l, err)
		}
		r.is(name+" without an answer", err, context.DeadlineExceeded)
		if took := time.Since(start); took > soon {
			r.Errorf("%s returned %v after the end of its ctx", name, took-slack/2)
		}
		link.Restore()
		r.free(b, key, r.again())
		r.free(a, key, r.patience())
		r.nothingLeft(key)
	}
}

func releaseReplyLost(r *row) {
	a, link := r.linked(max(2*r.h.TTL, 12*time.Second))
	b := r.lasting()
	l := r.acquire(a, r.key)
	link.SwallowReplies()
	start := time.Now()
	err := l.Release(r.ctx)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		r.Errorf("Release without an answer: got %v, want an error that is nobody's ctx error", err)
	}
	if took := time.Since(start); took > 5*time.Second+slack {
		r.Errorf("Release without an answer took %v, want at most 5 s", took)
	}
	r.is("Err", l.Err(), distlock.ErrReleased)
	link.Restore()
	r.free(b, r.key, r.again())
	next := r.acquire(b, r.key)
	if err := l.Release(r.ctx); err != nil && !errors.Is(err, distlock.ErrLost) &&
		!errors.Is(err, distlock.ErrReleased) && !errors.Is(err, distlock.ErrClosed) {
		r.Errorf("Release, called again: got %v, want nil or that the lease is over", err)
	}
	r.refused(r.lasting(), r.key)
	r.release(next)
}

func cutOffCallsEnd(r *row) {
	a, link := r.linked(r.long())
	r.release(r.acquire(a, r.key))
	link.Swallow()
	for name, f := range acquirers(a) {
		key := r.key + "/" + name // one of which the outcome is unknown may count as held
		start := time.Now()
		var err error
		r.returns(name+" over a dead network", r.patience(), func() { _, err = f(r.within(slack/2), key) })
		r.is(name+" over a dead network", err, context.DeadlineExceeded)
		if took := time.Since(start); took > soon {
			r.Errorf("%s returned %v after the end of its ctx", name, took-slack/2)
		}
	}
	b := r.lasting()
	for name := range acquirers(a) {
		if !r.Failed() {
			r.free(b, r.key+"/"+name, soon) // nothing of it arrived
		}
	}
}

func closeCutOff(r *row) {
	a, link := r.linked(r.long())
	r.acquire(a, r.key)
	link.Swallow()
	start := time.Now()
	err := a.Close(r.within(slack / 2))
	r.is("Close over a dead network", err, context.DeadlineExceeded)
	if took := time.Since(start); took > soon {
		r.Errorf("Close returned %v after the end of its ctx", took-slack/2)
	}
}

func renewalReplyLost(r *row) {
	ttl := 3 * r.h.TTL
	a, link := r.linked(ttl)
	b := r.short()
	l := r.acquire(a, r.key)
	end := l.Deadline()
	link.SwallowReplies()
	r.throughout(ttl/2, func() error { return l.Err() })
	link.Restore()
	r.throughout(time.Until(end)+ttl/3, func() error {
		r.refused(b, r.key)
		return l.Err()
	})
	r.release(l)
	r.free(b, r.key, r.again())
}

// livesOrTells checks that l either keeps its key or is told that it lost it,
// and that its client is of use afterwards.
func livesOrTells(r *row, l *distlock.Lease, c, other *distlock.Client) {
	var next *distlock.Lease
	r.throughout(r.h.TTL*3/2, func() error {
		got, err := other.TryAcquire(r.within(r.patience()), l.Key())
		if err == nil {
			next = got
			return errStop
		}
		return nil
	}, errStop)
	if next != nil {
		larger(r, l.Token(), next)
		r.ends(l, r.h.Expiry+slack)
		r.release(next)
	} else if err := l.Release(r.ctx); err != nil && !errors.Is(err, distlock.ErrLost) {
		r.Errorf("Release: got %v, want nil or ErrLost", err)
	}
	r.free(c, l.Key(), r.h.Expiry+r.again())
	r.free(other, l.Key(), r.again())
}

var errStop = errors.New("enough")

func connectionsReset(r *row) {
	a, link := r.linked(r.h.TTL)
	b := r.short()
	for i := range 3 {
		l := r.acquire(a, fmt.Sprint(r.key, "/", i))
		link.Reset()
		livesOrTells(r, l, a, b)
	}
}

func waitOverOutage(r *row) {
	told := make(chan struct{}, 1)
	a, link := r.linked(r.long(), distlock.WithTrace(&distlock.Trace{
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			if errors.Is(i.Err, distlock.ErrHeld) {
				select {
				case told <- struct{}{}:
				default:
				}
			}
		},
	}))
	b := r.lasting()
	l := r.acquire(b, r.key)
	results := r.wait(r.ctx, a, r.key)
	select {
	case <-told: // or the outage ends the call and not the wait
	case <-time.After(r.patience()):
		r.Fatalf("a waiter is not told that the key is held")
	}
	r.throughout(slack/5, func() error { return l.Err() })
	link.Swallow()
	r.release(l)
	r.throughout(slack/2, func() error { return nil })
	link.Restore()
	res := r.got(results, r.patience()+r.h.Reconnect)
	r.refused(b, r.key)
	larger(r, l.Token(), res.lease)
	r.release(res.lease)
	r.free(b, r.key, r.again())
	r.nothingLeft(r.key)
}

func restart(r *row) {
	a, b := r.short(), r.short()
	l := r.acquire(a, r.key)
	if err := r.h.Restart(r.within(10 * r.patience())); err != nil {
		r.Fatalf("the harness cannot restart the service: %v", err)
	}
	livesOrTells(r, l, a, b)
	next := r.acquire(b, r.key)
	if r.info.Fencing == distlock.FencingDurable {
		larger(r, l.Token(), next)
	}
	r.release(next)
}
