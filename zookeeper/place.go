package zookeeper

import (
	"context"
	"errors"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
)

// errUnwanted ends a creation that nobody waits for.
var errUnwanted = errors.New("given up")

// errGone is met by an owner whose node somebody else has deleted.
var errGone = errors.New("the lock's node was deleted")

// place gives owner a node in the queue of the key whose node is parent, or
// finds the one that it has. On failure there may be one, unless the error is a
// Refused one; remove finds out.
func (s *session) place(ctx context.Context, r request) (*node, error) {
	n, b, err := s.begin(r)
	if err != nil {
		return nil, err
	}
	none, err := s.await(ctx, b)
	switch {
	case err == nil:
		return n, nil
	case none:
		s.forget(n)
		return nil, distlock.Refused(explain(err))
	}
	return nil, s.judge(err)
}

// await waits for the end of b and returns its outcome: nil if the node is there,
// and with an error whether it certainly is not. A nil birth is over.
func (s *session) await(ctx context.Context, b *birth) (none bool, err error) {
	if b == nil {
		return false, nil
	}
	select {
	case <-b.done:
		return b.none, b.err
	case <-s.over:
		return false, s.why()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// create carries the creation of n out. It runs in a goroutine of its own, as
// nobody else can tell when the request has left, and ends with the session at
// the latest.
func (s *session) create(n *node, b *birth) {
	defer close(b.done)
	for {
		if s.isUnwanted(n) {
			b.err, b.none = errUnwanted, true
			return
		}
		path, err := s.put(b.request)
		czxid := s.link.czxid(path)
		if isBroken(err) {
			path, czxid, err = s.find(b.request)
			for (isBroken(err) || err == zk.ErrNoServer) && !s.isOver() { // which comes once a second
				path, czxid, err = s.find(b.request)
			}
			b.none = false
		} else if err != nil {
			b.none = isAnswer(err)
		}
		switch {
		case err != nil:
			b.err = err
			return
		case path != "":
			s.born(n, path, czxid)
			return
		}
	}
}

// find returns the path and the czxid of the node that a lost reply has left to the
// owner, or "". It is on another connection than the request, which the servers
// carry out before or never. That they agree first is for one that another member of the
// ensemble has carried out. A node of an earlier session does not count: it is about to go.
func (s *session) find(r request) (path string, czxid int64, err error) {
	if err := agree(s.zk, r.parent); err != nil {
		return "", 0, err
	}
	names, _, err := s.zk.Children(r.parent)
	if err != nil && err != zk.ErrNoNode {
		return "", 0, err
	}
	guid := prefix(r.owner)
	for _, name := range names {
		if !strings.HasPrefix(name, guid) {
			continue
		}
		path := r.parent + "/" + name
		there, stat, err := s.zk.Exists(path)
		if err != nil {
			return "", 0, err
		}
		if there && stat.EphemeralOwner == s.id {
			return path, stat.Czxid, nil
		}
	}
	return "", 0, nil
}

// remove deletes n's node, whatever is known of it. It returns nil if it did,
// ErrLost if there was none, and another error if it cannot tell.
func (s *session) remove(ctx context.Context, n *node) error {
	none, err := s.await(ctx, s.discard(n))
	switch {
	case err == nil:
		err = s.deleteNode(ctx, n)
	case none:
		err = distlock.ErrLost
	}
	if err == nil || err == distlock.ErrLost {
		s.forget(n)
	}
	return s.judge(err)
}

// deleteNode deletes n's node. One that is not there counts as deleted if an
// answer to an earlier attempt is missing.
func (s *session) deleteNode(ctx context.Context, n *node) error {
	_, err := retry(ctx, s, func() (struct{}, error) {
		err := s.zk.Delete(n.path, -1)
		if isBroken(err) {
			s.mark(func() { n.asked = true })
		}
		return struct{}{}, err
	})
	asked := false
	s.mark(func() {
		asked = n.asked
		n.asked = n.asked || ctx.Err() != nil
	})
	switch {
	case errors.Is(err, zk.ErrNoNode) && asked:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return distlock.ErrLost
	}
	return err
}
