package zookeeper

import (
	"strings"

	"github.com/distlock-go/distlock"
)

// A node is an owner's place in the queue of a key, or the attempt to get one.
// While a lock is held there is no more of it here than this.
type node struct {
	owner distlock.Owner

	// Guarded by session.mu, up to birth.
	unwanted bool   // is to go: nothing more may be created
	asked    bool   // its deletion was sent without an answer
	held     bool   // handed out as a Hold
	gone     bool   // deleted, and not by us
	watched  bool   // somebody will tell if it is deleted
	birth    *birth // nil once the node is known to be there

	// Set once, at the end of birth.
	path  string
	token distlock.Token // the node's czxid
}

// A birth is a node's creation, under way or failed.
type birth struct {
	request
	done chan struct{} // closed when the outcome is known as far as it can be
	err  error         // set before that; nil if the node is there
	none bool          // it certainly is not
}

// parent returns the path of the node that n is below.
func (n *node) parent() string { return n.path[:strings.LastIndexByte(n.path, '/')] }

// begin returns the node of the request's owner and its birth, which it begins
// if this is the first time.
func (s *session) begin(r request) (*node, *birth, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return nil, nil, s.whyLocked()
	}
	n := s.nodes[r.owner]
	if n == nil {
		n = &node{owner: r.owner, birth: &birth{request: r, done: make(chan struct{})}}
		s.nodes[r.owner] = n
		go s.create(n, n.birth)
	}
	return n, n.birth, nil
}

// born ends n's birth at path.
func (s *session) born(n *node, path string, czxid int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.path, n.token, n.birth = path, distlock.Token(czxid), nil
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

// isUnwanted reports whether nobody wants n any more.
func (s *session) isUnwanted(n *node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n.unwanted
}

// discard makes n one that nobody wants, and returns its birth unless that is over.
func (s *session) discard(n *node) *birth {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.unwanted = true
	return n.birth
}

// forget drops n, about which everything is known.
func (s *session) forget(n *node) {
	s.mu.Lock()
	if s.nodes[n.owner] == n {
		delete(s.nodes, n.owner)
	}
	s.mu.Unlock()
}
