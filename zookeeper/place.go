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
	n, err := s.begin(r)
	if err != nil {
		return nil, err
	}
	select {
	case <-n.done:
	case <-s.over:
		return nil, s.why()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case n.path != "":
		return n, nil
	case n.none:
		s.forget(n)
		return nil, distlock.Refused(explain(n.err))
	}
	return nil, s.judge(n.err)
}

// create carries the creation of n out. It runs in a goroutine of its own, as
// nobody else can tell when the request has left, and ends with the session at
// the latest.
func (s *session) create(n *node, holder string) {
	defer close(n.done)
	for {
		if s.isUnwanted(n) {
			n.err, n.none = errUnwanted, true
			return
		}
		n.path, n.err = s.put(n, []byte(holder))
		if n.err == nil {
			return
		}
		if !isBroken(n.err) {
			n.none = isAnswer(n.err)
			return
		}
		path, err := s.find(n)
		for (isBroken(err) || err == zk.ErrNoServer) && !s.isOver() { // which comes once a second
			path, err = s.find(n)
		}
		switch {
		case err != nil:
			n.err = err // unknown
			return
		case path != "":
			n.path, n.err = path, nil
			return
		}
	}
}

// find returns the path of the node that a lost reply has left to n, or "". It is
// on another connection than the request, which the servers carry out before or
// never. The sync is for one that another member of the ensemble has carried out.
// A node of an earlier session is not n's: it is about to go.
func (s *session) find(n *node) (string, error) {
	if _, err := s.zk.Sync(n.parent); err != nil {
		return "", err
	}
	names, _, err := s.zk.Children(n.parent)
	if err != nil && err != zk.ErrNoNode {
		return "", err
	}
	guid := prefix(n.owner)
	for _, name := range names {
		if !strings.HasPrefix(name, guid) {
			continue
		}
		path := n.parent + "/" + name
		there, stat, err := s.zk.Exists(path)
		if err != nil {
			return "", err
		}
		if there && stat.EphemeralOwner == s.id {
			return path, nil
		}
	}
	return "", nil
}

// remove deletes n's node, whatever is known of it. It returns nil if it did,
// ErrLost if there was none, and another error if it cannot tell.
func (s *session) remove(ctx context.Context, n *node) error {
	s.discard(n)
	select {
	case <-n.done:
	case <-s.over:
		return s.why()
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.judge(n.err)
	switch {
	case n.path != "":
		err = s.deleteNode(ctx, n)
	case n.none:
		err = distlock.ErrLost
	}
	if err == nil || err == distlock.ErrLost {
		s.forget(n)
	}
	return err
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
