package zookeeper

import (
	"time"

	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
)

// Whatever is read by Get is watched: see conn.Write. The server tells once, over
// the connection on which it was asked.

// event takes what the library hears from the server. It never blocks.
func (s *session) event(e zk.Event) {
	switch e.Type {
	case zk.EventSession:
		if e.State == zk.StateHasSession { // watches are gone with the last connection
			s.ringAll()
			s.watchAgain()
		}
	case zk.EventNodeDeleted:
		s.ring(e.Path, nil)
		s.deleted(e.Path)
	case zk.EventNodeDataChanged:
		s.ring(e.Path, nil)
		s.unwatched(e.Path)
	}
}

// A bell rings when its node is gone, and sometimes earlier. Waiters for the same
// node share one, and its watch.
type bell struct {
	rung chan struct{} // closed when it rings
	err  error         // set before that: why the node cannot be watched
}

// bell returns that of the node at path.
func (s *session) bell(path string) *bell {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bells[path]
	if b == nil {
		b = &bell{rung: make(chan struct{})}
		s.bells[path] = b
		go s.listen(path) // ends with the answer or the connection
	}
	return b
}

// listen sets the watch of the bell at path. Where there is none to be had it is
// worth to look at the queue again if the node is gone or the connection: each comes
// once. Any other error, such as that we may not read the node, would be met again
// at once and for ever, so it is told to who waits.
func (s *session) listen(path string) {
	switch _, _, err := s.zk.Get(path); {
	case err == nil: // see event
	case err == zk.ErrNoNode, err == zk.ErrNoServer, isBroken(err):
		s.ring(path, nil)
	default:
		s.ring(path, err)
	}
}

// ring has the bell at path ring, with err where nothing will tell of the node.
func (s *session) ring(path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bells[path]; b != nil {
		delete(s.bells, path)
		b.err = err
		close(b.rung)
	}
}

func (s *session) ringAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, b := range s.bells {
		delete(s.bells, path)
		close(b.rung)
	}
}

// deleted takes note that the node at path is gone. That of a lock is forgotten with
// it: the core, once told, has nothing to give up and comes back for nothing. One that
// is not handed out yet has somebody at work on it, who is to find out and give it up.
func (s *session) deleted(path string) {
	owner, ok := ownerOf(path)
	if !ok {
		return
	}
	s.mu.Lock()
	n := s.nodes[owner]
	if n == nil || n.unwanted || n.gone {
		s.mu.Unlock()
		return
	}
	n.gone = true
	var lost func(distlock.Owner, error)
	if n.held {
		delete(s.nodes, owner)
		lost = s.lost
	}
	s.mu.Unlock()
	if lost != nil {
		lost(owner, errGone)
	}
}

// watchDelay is how old a lock gets before its node is watched: most are not held
// so long, and cost no watch.
const watchDelay = 100 * time.Millisecond

// watchSoon has all nodes of ours watched that are not yet. s.mu is held.
func (s *session) watchSoon() {
	if !s.soon {
		s.soon = true
		time.AfterFunc(watchDelay, s.watchOwn)
	}
}

// watchAgain has all of them watched anew.
func (s *session) watchAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		n.watched = false
	}
	s.watchSoon()
}

// unwatched takes note that the watch on the node at path is used up.
func (s *session) unwatched(path string) {
	owner, ok := ownerOf(path)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[owner]; n != nil {
		n.watched = false
		s.watchSoon()
	}
}

// watchOwn watches what watchSoon says. It ends with the last answer or the
// connection; after the next one watchAgain begins anew.
func (s *session) watchOwn() {
	var paths []string
	s.mark(func() {
		s.soon = false
		for _, n := range s.nodes {
			if n.birth == nil && !n.watched {
				n.watched = true
				paths = append(paths, n.path)
			}
		}
	})
	for _, p := range paths {
		_, _, err := s.zk.Get(p)
		switch {
		case err == zk.ErrNoNode:
			s.deleted(p)
		case isBroken(err):
			return
		}
	}
}
