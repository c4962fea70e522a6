package etcd

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/distlock-go/distlock/internal/pause"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// pollEvery is how often a waiter looks for itself, whatever its watch
	// says: the member that serves the watch may be dead.
	pollEvery = time.Second
	// retryAfter is the pause after a read that failed.
	retryAfter = 100 * time.Millisecond
)

// advance waits until the place may be another one, and returns that.
func (q *queue) advance(ctx context.Context, p place) (place, error) {
	if p.before != "" {
		first, err := q.await(ctx, p)
		if first || err != nil {
			return place{created: p.created}, err
		}
	}
	return q.next(ctx, p)
}

// span returns the range of names to watch: the key before alone, so that only its end
// wakes the waiter; and for the next in the queue up to the own key, since one watch
// tells of both in their order, and the end of the first grants the lock then.
func (q *queue) span(p place) (from, to string) {
	if !p.isNext {
		return p.before, ""
	}
	return min(p.before, q.own), max(p.before, q.own) + "\x00"
}

// await returns true once the own key is the first for certain: the next in the queue
// has been told that the first is gone, and not that its own key was before that. It
// returns false when it is worth to look again: one of the two keys may be gone, or the
// watch cannot tell any more.
func (q *queue) await(ctx context.Context, p place) (first bool, err error) {
	from, to := q.span(p)
	w := q.session.watch(ctx, from, clientv3.WithRange(to))
	defer w.stop()
	timer := time.NewTimer(pollIn())
	defer timer.Stop()
	events := w.events
	begun := false    // the watch tells all that happens from now on
	complete := false // and nothing had happened before since p was so
	for {
		polled := false
		select {
		case resp, ok := <-events:
			switch {
			case resp.CompactRevision > 0:
				return false, nil
			case !ok || resp.Err() != nil:
				events = nil // the timer is next
				continue
			}
			if own, before := p.tells(resp, q.own), p.tells(resp, p.before); own || before {
				return p.isNext && complete && !own, nil
			}
			begun = begun || resp.Created
			complete = complete || resp.Created && resp.Header.Revision <= p.at
			if !resp.Created || complete {
				continue
			}
		case <-timer.C:
			polled = true
		case <-ctx.Done():
			return false, ctx.Err()
		}
		there, err := q.bothThere(ctx, p)
		switch {
		case err != nil && !passes(err):
			return false, err
		case err == nil && !there, polled && events == nil:
			return false, nil
		}
		complete = complete || begun && there
		timer.Reset(pollIn())
	}
}

// tells reports whether the key of that name was deleted since p was so. A member that
// is behind tells of earlier times too, when the name may have been another key's. What
// one transaction deletes comes together, in the order of names.
func (p place) tells(resp clientv3.WatchResponse, name string) bool {
	return slices.ContainsFunc(resp.Events, func(e *clientv3.Event) bool {
		return e.Kv.ModRevision > p.at && string(e.Kv.Key) == name
	})
}

// pollIn is a little random, so that waiters do not poll all at once.
func pollIn() time.Duration { return pollEvery - rand.N(pollEvery/4) }

// bothThere reports whether the own key and the one before are, at a cost that
// does not depend on the queue's length.
func (q *queue) bothThere(ctx context.Context, p place) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(p.before), "=", p.older)}
	if p.created > 0 {
		conditions = append(conditions, clientv3.Compare(clientv3.CreateRevision(q.own), "=", p.created))
	}
	return holds(ctx, q.session.backend.client, q.own, conditions...)
}

// next looks again, as often as it takes to get an answer, and takes a new
// place where there is none.
func (q *queue) next(ctx context.Context, p place) (place, error) {
	for p.created > 0 {
		lctx, cancel := context.WithTimeout(ctx, pollEvery)
		now, err := q.look(lctx, p.created)
		cancel()
		switch {
		case err == nil && now.created > 0:
			return now, nil
		case err == nil:
			p.created = 0
			continue
		case !passes(err):
			return p, err
		}
		if err := pause.For(ctx, retryAfter); err != nil {
			return p, err
		}
	}
	return q.enter(ctx)
}
