package zookeeper

import "github.com/distlock-go/distlock"

// A node is an owner's place in the queue of a key, or the attempt to get one.
type node struct {
	owner  distlock.Owner
	parent string

	// done is closed when the outcome below is known as far as it can be.
	done chan struct{}
	path string // there is one; else err
	err  error
	none bool // there certainly is none

	// Guarded by session.mu.
	unwanted bool          // is to go: nothing more may be created
	asked    bool          // its deletion was sent without an answer
	held     bool          // handed out as a Hold
	gone     bool          // deleted, and not by us
	wake     chan struct{} // of one that waits; closed when it is gone
	token    distlock.Token
}

// begin returns the node of the request's owner, whose creation it begins if
// this is the first time.
func (s *session) begin(r request) (*node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return nil, s.whyLocked()
	}
	n := s.nodes[r.owner]
	if n == nil {
		n = &node{owner: r.owner, parent: r.parent, done: make(chan struct{})}
		s.nodes[r.owner] = n
		go s.create(n, r.holder)
	}
	return n, nil
}

// A request is for a place in the queue below parent.
type request struct {
	owner  distlock.Owner
	parent string
	holder string // for whoever inspects the lock
}

// known returns owner's node, if the session knows of one.
func (s *session) known(owner distlock.Owner) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[owner]
}

// waits returns a channel that is closed when n is deleted by somebody else.
func (s *session) waits(n *node) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.wake == nil {
		n.wake = make(chan struct{})
		if n.gone {
			close(n.wake)
		}
	}
	return n.wake
}

// token returns n's token, 0 if it is not known yet.
func (s *session) token(n *node) distlock.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n.token
}

// isUnwanted reports whether nobody wants n any more.
func (s *session) isUnwanted(n *node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n.unwanted
}

// discard makes n one that nobody wants.
func (s *session) discard(n *node) {
	s.mu.Lock()
	n.unwanted = true
	s.mu.Unlock()
}

// forget drops n, about which everything is known.
func (s *session) forget(n *node) {
	s.mu.Lock()
	if s.nodes[n.owner] == n {
		delete(s.nodes, n.owner)
	}
	s.mu.Unlock()
}
