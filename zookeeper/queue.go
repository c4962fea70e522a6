package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
)

// TryAcquire makes one attempt: it stands at the end of the queue and leaves
// it again unless that is its head.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	h, err := s.try(ctx, r)
	if errors.Is(err, errClosed) { // by the core, as its time was over
		err = fmt.Errorf("%w: %w", distlock.ErrLost, err)
	}
	return h, err
}

func (s *session) try(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	n, err := s.place(ctx, s.request(r))
	if err != nil {
		return distlock.Hold{}, err
	}
	before, err := s.look(ctx, n)
	switch {
	case err != nil:
		return distlock.Hold{}, err
	case before == "":
		return s.grant(r, n)
	}
	if err := s.remove(ctx, n); err != nil && !errors.Is(err, distlock.ErrLost) {
		return distlock.Hold{}, err
	}
	if err := s.why(); err != nil {
		return distlock.Hold{}, err
	}
	return distlock.Hold{}, distlock.Held(0)
}

// Acquire stands in the queue and waits for the node before its own to go. Where one
// of the two cannot be watched the wait would have no end of its own, so it has that
// error's.
func (s *session) Acquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	n, err := s.place(ctx, s.request(r))
	if err != nil {
		return distlock.Hold{}, err
	}
	for {
		before, err := s.look(ctx, n)
		switch {
		case err != nil:
			return distlock.Hold{}, err
		case before == "":
			return s.grant(r, n)
		}
		if err := s.wait(ctx, before, n.path); err != nil {
			return distlock.Hold{}, err
		}
	}
}

// wait returns nil when it is worth to look again: the node before may be gone, or
// somebody has deleted our own.
func (s *session) wait(ctx context.Context, before, own string) error {
	theirs, ours := s.bell(before), s.bell(own)
	select {
	case <-theirs.rung:
		return s.judge(theirs.err)
	case <-ours.rung:
		return s.judge(ours.err)
	case <-s.over:
		return s.why()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) request(r distlock.Request) request {
	return request{owner: r.Owner, parent: s.backend.keyPath(r.Key), holder: r.Holder}
}

// look returns the path of the node before n in the queue, "" if n is the first.
// An old view of the queue will do: whoever came before n is in it, since n is.
func (s *session) look(ctx context.Context, n *node) (before string, err error) {
	names, err := retry(ctx, s, func() ([]string, error) {
		names, _, err := s.zk.Children(n.parent())
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	return predecessor(n, names)
}

// predecessor returns the path of the node before n among names.
func predecessor(n *node, names []string) (path string, err error) {
	parent := n.parent()
	own := n.path[len(parent)+1:]
	mine, _ := sequence(own)
	name, last, there := "", int32(0), false
	for _, other := range names {
		there = there || other == own
		if seq, ok := sequence(other); ok && before(seq, mine) && (name == "" || before(last, seq)) {
			name, last = other, seq
		}
	}
	switch {
	case !there:
		return "", errGone
	case name == "":
		return "", nil
	}
	return parent + "/" + name, nil
}

// grant hands n out, unless it has been deleted since it was seen.
func (s *session) grant(r distlock.Request, n *node) (distlock.Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cause != nil:
		return distlock.Hold{}, s.whyLocked()
	case n.gone || n.unwanted:
		return distlock.Hold{}, errGone
	}
	n.held = true
	s.watchSoon()
	return distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: n.token, State: n}, nil
}

// Release deletes the owner's node. The session knows all owners that may have
// one.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	if err := s.why(); err != nil {
		return err
	}
	n := s.known(h.Owner)
	if n == nil {
		return distlock.ErrLost
	}
	return s.remove(ctx, n)
}
