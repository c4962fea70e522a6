package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// relisten is the pause before a broken watch is made anew.
	relisten = time.Second
	// checkBound is how long the look for the keys of grants may take.
	checkBound = 5 * time.Second
)

var (
	errMarkerGone = errors.New("etcd: the session's key was deleted, with its lease or by hand")
	errKeyGone    = errors.New("etcd: the lock's key was deleted by somebody else")
)

// NotifyLoss starts the session's one goroutine that stays, which ends with
// Close or when the whole session is lost.
//
// A lock's key is where all its waiters look, so those of one session are all
// over the prefix, and a watch on all of it would send every release of
// everybody to everybody. So a session has one more key, its marker, which is
// watched: it goes with the lease. Single keys that were deleted by hand are
// found after each renewal, by one request that lists what the lease holds.
func (s *session) NotifyLoss(lost func(owner distlock.Owner, cause error)) {
	s.mu.Lock()
	s.lost = lost
	s.mu.Unlock()
	s.work.Go(func() { s.listen(lost) })
}

// listen is that goroutine. It has another one while keys are looked for.
func (s *session) listen(lost func(distlock.Owner, error)) {
	var w watch
	defer func() { w.stop() }()
	retry := time.NewTimer(0)
	defer retry.Stop()
	check, looked := s.check, make(chan struct{}, 1)
	for {
		var err error
		select {
		case <-s.ctx.Done():
			return
		case <-retry.C:
			w, err = s.watchMarker()
		case resp, ok := <-w.events:
			switch {
			case len(resp.Events) > 0:
				err = fmt.Errorf("%w: %w", distlock.ErrLost, errMarkerGone)
			case !ok || resp.Err() != nil:
				err = errBroken
			}
		case <-check:
			check = nil
			s.work.Go(func() { // not here: a member that is silent must not hide the marker's end
				s.lookForKeys(lost)
				looked <- struct{}{}
			})
		case <-looked:
			check = s.check
		}
		switch {
		case errors.Is(err, distlock.ErrLost):
			lost(distlock.Owner{}, err)
			return
		case err != nil:
			w.stop()
			w = watch{}
			retry.Reset(relisten)
		}
	}
}

var errBroken = errors.New("watch broken")

// watchMarker puts the marker, once more if it is there, and watches it.
func (s *session) watchMarker() (watch, error) {
	ctx, cancel := context.WithTimeout(s.ctx, checkBound)
	defer cancel()
	revision, err := s.mark(ctx)
	if err != nil {
		return watch{}, judge(ctx, err)
	}
	return s.watch(s.ctx, s.backend.marker(s.lease), clientv3.WithRev(revision+1)), nil
}

// mark puts the marker and returns the revision at which it did.
func (s *session) mark(ctx context.Context) (int64, error) {
	resp, err := s.backend.client.Put(ctx, s.backend.marker(s.lease), "", clientv3.WithLease(s.lease))
	if err != nil {
		return 0, err
	}
	return resp.Header.Revision, nil
}

// lookForKeys tells of grants whose keys are gone. Of the lease itself it believes
// nothing: a leader that was stalled and does not know of its successor yet takes
// it for expired, where a renewal makes sure.
func (s *session) lookForKeys(lost func(distlock.Owner, error)) {
	if !s.beginRound() {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, checkBound)
	defer cancel()
	resp, err := s.backend.client.TimeToLive(ctx, s.lease, clientv3.WithAttachedKeys())
	if err != nil || resp.TTL < 0 {
		return // the next renewal has it looked for again
	}
	for _, g := range s.unseen(resp.Keys) {
		if s.isLost(ctx, g) {
			s.forget(g)
			lost(g.owner, errKeyGone)
		}
	}
}

// beginRound reports whether there are grants to look for. Those made from now
// on count as seen.
func (s *session) beginRound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
	return len(s.held) > 0
}

// unseen returns the grants that are not among the lease's keys. In a
// namespace, a client of which only the KV is wrapped gets the keys' full
// names; then all are unseen, and isLost knows.
func (s *session) unseen(names [][]byte) (missing []*grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if g := s.held[string(name)]; g != nil {
			g.seen = s.round
		}
	}
	for _, g := range s.held {
		if g.seen < s.round {
			missing = append(missing, g)
		}
	}
	return missing
}

// isLost asks for a key by itself: a leader that has been replaced and does not know
// it yet lists what it had.
func (s *session) isLost(ctx context.Context, g *grant) bool {
	there, err := holds(ctx, s.backend.client, g.name, s.isThere(g)...)
	return err == nil && !there
}
