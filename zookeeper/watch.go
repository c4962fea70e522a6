package zookeeper

import "github.com/go-zookeeper/zk"

// Whatever is read by Get is watched: see conn.Write. The server tells once, over
// the connection on which it was asked.

// event takes what the library hears from the server. It never blocks.
func (s *session) event(e zk.Event) {
	switch e.Type {
	case zk.EventSession:
		if e.State == zk.StateHasSession { // watches are gone with the last connection
			s.ringAll()
			go s.watchAgain() // ends with the last answer or the connection
		}
	case zk.EventNodeDeleted:
		s.ring(e.Path)
		s.deleted(e.Path)
	case zk.EventNodeDataChanged:
		s.ring(e.Path)
		go s.watchOwn(e.Path) // ends with the answer or the connection
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
	if n.wake != nil {
		close(n.wake)
	}
	lost := s.lost
	if !n.held {
		lost = nil
	}
	s.mu.Unlock()
	if lost != nil {
		lost(owner, errGone)
	}
}

// watchOwn watches the node at path, if it is one of ours, once more.
func (s *session) watchOwn(path string) {
	owner, ok := ownerOf(path)
	if !ok || s.known(owner) == nil {
		return
	}
	if _, _, err := s.zk.Get(path); err == zk.ErrNoNode {
		s.deleted(path)
	}
}

// watchAgain watches all nodes of ours over a new connection.
func (s *session) watchAgain() {
	var paths []string
	s.mark(func() {
		for _, n := range s.nodes {
			if n.birth == nil {
				paths = append(paths, n.path)
			}
		}
	})
	for _, p := range paths {
		_, _, err := s.zk.Get(p)
		switch {
		case err == zk.ErrNoNode:
			s.deleted(p)
		case isBroken(err): // the next connection begins anew
			return
		}
	}
}
