// Package memsession is a lock service in memory whose grants live by a
// session: the reference for backends like etcd, ZooKeeper, Consul and
// PostgreSQL, in which the core's session paths are tested.
//
// A Service is the server. Each Backend is a connection to it, with hooks of
// its own that stand in for the faults of a network.
package memsession

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// A Service keeps keys and sessions. Use New.
type Service struct {
	mu       sync.Mutex // guards all below, and what remotes and nodes say
	keys     map[string][]*node
	remotes  map[*remote]struct{}
	last     distlock.Token // one counter serves all keys
	watchers map[*watcher]struct{}
}

// A remote is the server's side of a session.
type remote struct {
	backend  *Backend
	lifetime time.Duration
	until    time.Time   // unless it is kept alive
	timer    *time.Timer // ends it then
	dead     bool
	lost     func(distlock.Owner, error) // nil: nobody wants to know
}

// A node is one owner's place in the queue of a key. The first has the key. One
// with token 0 is nobody's: it is what a lock-delay is kept by after Break.
type node struct {
	remote *remote
	owner  distlock.Owner
	token  distlock.Token
	holder string
	moved  chan struct{} // closed when it has become the first, or is gone
	gone   bool
}

type watcher struct {
	key  string
	wake func()
}

// errGone is what a dead session meets.
var errGone = errors.New("the service does not know the session")

// errExpelled is errGone as TryAcquire and Acquire say it.
var errExpelled = fmt.Errorf("%w: %w", distlock.ErrLost, errGone)

// New returns an empty service.
func New() *Service {
	return &Service{
		keys:     make(map[string][]*node),
		remotes:  make(map[*remote]struct{}),
		watchers: make(map[*watcher]struct{}),
	}
}

// Delete removes the holder's node of key, as an operator would. It reports
// whether there was one.
func (s *Service) Delete(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := s.keys[key]
	if len(nodes) == 0 {
		return false
	}
	n := nodes[0]
	s.remove(key, n)
	n.remote.tell(n.owner)
	return true
}

// Expel ends the session that holds key, as a service does that has lost it. It
// reports whether there was one.
func (s *Service) Expel(key string) bool {
	s.mu.Lock()
	nodes := s.keys[key]
	s.mu.Unlock()
	if len(nodes) == 0 {
		return false
	}
	s.end(nodes[0].remote, true)
	return true
}

// Len returns how many owners hold or wait for key.
func (s *Service) Len(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys[key])
}

// Sessions returns how many sessions are alive.
func (s *Service) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.remotes)
}

// open makes a session that lives for lifetime.
func (s *Service) open(b *Backend, lifetime time.Duration) *remote {
	r := &remote{backend: b, lifetime: lifetime, until: time.Now().Add(lifetime)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remotes[r] = struct{}{}
	r.timer = time.AfterFunc(lifetime, func() { s.end(r, true) })
	return r
}

// keepAlive lets r live for another lifetime, if it lives.
func (s *Service) keepAlive(r *remote) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.dead {
		return distlock.ErrLost
	}
	r.until = time.Now().Add(r.lifetime)
	r.timer.Reset(r.lifetime)
	return nil
}

// end ends r and all it has. Tell says whether its client is to hear of it.
func (s *Service) end(r *remote, tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.dead {
		return
	}
	r.dead = true
	r.timer.Stop()
	delete(s.remotes, r)
	for key, nodes := range s.keys {
		for _, n := range slices.Clone(nodes) {
			if n.remote == r {
				s.remove(key, n)
			}
		}
	}
	if tell {
		r.tell(distlock.Owner{})
	}
}

// tell passes on that owner's node, or the whole session, is gone. Service.mu
// is held.
func (r *remote) tell(owner distlock.Owner) {
	if lost := r.lost; lost != nil {
		r.backend.deliver(Notify, "", func() { lost(owner, errGone) })
	}
}

// find returns owner's node of key. s.mu is held.
func (s *Service) find(key string, owner distlock.Owner) *node {
	for _, n := range s.keys[key] {
		if n.owner == owner {
			return n
		}
	}
	return nil
}

// add puts q's owner at the end of the queue of its key, or finds it there.
func (s *Service) add(r *remote, q distlock.Request, queue bool) (*node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := s.keys[q.Key]
	n := s.find(q.Key, q.Owner)
	switch {
	case r.dead:
		return nil, errExpelled
	case !queue && len(nodes) > 0 && nodes[0] != n:
		return nil, distlock.Held(0)
	case n != nil:
		return n, nil
	}
	s.last++
	n = &node{remote: r, owner: q.Owner, token: s.last, holder: q.Holder, moved: make(chan struct{})}
	s.keys[q.Key] = append(nodes, n)
	if len(nodes) == 0 {
		close(n.moved)
	}
	return n, nil
}

// release removes owner's node of key.
func (s *Service) release(key string, owner distlock.Owner) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.find(key, owner)
	if n == nil {
		return distlock.ErrLost
	}
	s.remove(key, n)
	return nil
}

// remove takes n out of the queue of key and lets the next one have the key.
// s.mu is held.
func (s *Service) remove(key string, n *node) {
	nodes := s.keys[key]
	first := nodes[0] == n
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(m *node) bool { return m == n })
	s.keys[key] = nodes
	n.gone = true
	if !first {
		close(n.moved)
	} else if len(nodes) > 0 {
		close(nodes[0].moved)
	}
	if len(nodes) > 0 {
		return
	}
	delete(s.keys, key)
	for w := range s.watchers {
		if w.key == key {
			go w.wake() // ends at once: wake never blocks; not under our lock
		}
	}
}
