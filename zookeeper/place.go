package zookeeper

import (
	"context"
	"errors"
	"slices"
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
		path, err := s.findMine(n)
		for isBroken(err) && !s.isUnwanted(n) && !s.isOver() {
			path, err = s.findMine(n)
		}
		if err != nil {
			n.err = err // unknown
			return
		}
		if path != "" {
			n.path, n.err = path, nil
			return
		}
	}
}

// findMine returns the path of the node that a lost reply has left to n, or "".
// One of an earlier session is not ours: it is about to go.
func (s *session) findMine(n *node) (string, error) {
	paths, err := s.find(n)
	for _, p := range paths {
		there, stat, err := s.zk.Exists(p)
		switch {
		case err != nil:
			return "", err
		case there && stat.EphemeralOwner == s.id:
			return p, nil
		}
	}
	return "", err
}

// find returns the paths of all nodes that are of n's owner. The sync before it
// is for what was created over another member of the ensemble.
func (s *session) find(n *node) ([]string, error) {
	if _, err := s.zk.Sync(n.parent); err != nil {
		return nil, err
	}
	names, _, err := s.zk.Children(n.parent)
	if err != nil && err != zk.ErrNoNode {
		return nil, err
	}
	guid := prefix(n.owner)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, guid) })
	for i := range names {
		names[i] = n.parent + "/" + names[i]
	}
	return names, nil
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
	paths := []string{n.path}
	if n.path == "" {
		if n.none {
			s.forget(n)
			return distlock.ErrLost
		}
		var err error
		paths, err = retry(ctx, s, func() ([]string, error) { return s.find(n) })
		if err != nil {
			return err
		}
	}
	found := false
	for _, p := range paths {
		err := s.deleteNode(ctx, n, p)
		if err != nil && err != distlock.ErrLost {
			return err
		}
		found = found || err == nil
	}
	s.forget(n)
	if !found {
		return distlock.ErrLost
	}
	return nil
}

// deleteNode deletes the node at path. One that is not there counts as deleted
// if an answer to an earlier attempt is missing.
func (s *session) deleteNode(ctx context.Context, n *node, path string) error {
	_, err := retry(ctx, s, func() (struct{}, error) {
		err := s.zk.Delete(path, -1)
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
