package zookeeper

import (
	"time"

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
		s.ring(e.Path)
		s.deleted(e.Path)
	case zk.EventNodeDataChanged:
		s.ring(e.Path)
		s.unwatched(e.Path)
	}
}

// bell returns a channel that is closed when the node at path is gone, and
// sometimes earlier. Waiters for the same node share one, and its watch.
func (s *session) bell(path string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.bells[path]
	if !ok {
		b = make(chan struct{})
		s.bells[path] = b
		go func() { // ends with the answer or the connection
			if _, _, err := s.zk.Get(path); err != nil {
				s.ring(path)
			}
		}()
	}
	return b
}

func (s *session) ring(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.bells[path]; ok {
		delete(s.bells, path)
		close(b)
	}
}

func (s *session) ringAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, b := range s.bells {
		delete(s.bells, path)
		close(b)
	}
}

// deleted takes note that the node at path is gone.
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
	lost := s.lost
	if !n.held {
		lost = nil
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
