package zookeeper

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// maxParents bounds how many parents are remembered: under half a megabyte.
const maxParents = 16384

// parents remembers which parents were there lately, so that those cost nothing
// more. That one is remembered promises nothing: the server removes containers
// that are empty. So a hash will do.
type parents struct {
	seed  maphash.Seed
	mu    sync.Mutex // guards known
	known map[uint64]struct{}
}

func newParents() *parents {
	return &parents{seed: maphash.MakeSeed(), known: make(map[uint64]struct{})}
}

func (p *parents) has(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.known[maphash.String(p.seed, path)]
	return ok
}

func (p *parents) add(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxParents {
		clear(p.known)
	}
	p.known[maphash.String(p.seed, path)] = struct{}{}
}

func (p *parents) drop(path string) {
	p.mu.Lock()
	delete(p.known, maphash.String(p.seed, path))
	p.mu.Unlock()
}

// maxParentTries is how often a parent may vanish before the node is in it.
const maxParentTries = 5

// put creates a node, and its parent if that is missing, and returns the node's
// path.
func (s *session) put(r request) (path string, err error) {
	known := s.backend.parents
	for range maxParentTries {
		if known.has(r.parent) {
			path, err = s.putNode(r)
		} else {
			path, err = s.putBoth(r)
		}
		if err != zk.ErrNoNode {
			return path, err
		}
		known.drop(r.parent)
	}
	return path, err
}

func (s *session) putNode(r request) (string, error) {
	return s.zk.Create(r.parent+"/"+prefix(r.owner), []byte(r.holder), zk.FlagEphemeralSequential, s.backend.opts.ACL)
}

// putBoth sends the creation of the parent and that of the node one behind the
// other, which is one round trip. Should they overtake each other the node has
// no parent, and is put again.
func (s *session) putBoth(r request) (path string, err error) {
	done := make(chan struct{})
	go func() { // starts while we wait for the parent, ends with the answer
		defer close(done)
		path, err = s.putNode(r)
	}()
	parentErr := s.putParent(r.parent)
	<-done
	if err == zk.ErrNoNode && parentErr != nil {
		return "", parentErr
	}
	if err == nil || parentErr == nil {
		s.backend.parents.add(r.parent)
	}
	return path, err
}

// putParent creates the container at path, and persistent nodes above it.
func (s *session) putParent(path string) error {
	acl := s.backend.opts.ACL
	_, err := s.zk.CreateContainer(path, nil, zk.FlagContainer, acl)
	if err == zk.ErrNoNode {
		if err = putAbove(s.zk, path, acl); err != nil {
			return err
		}
		_, err = s.zk.CreateContainer(path, nil, zk.FlagContainer, acl)
	}
	if err == zk.ErrNodeExists {
		return nil
	}
	return err
}

// putAbove creates what is missing above path.
func putAbove(c *zk.Conn, path string, acl []zk.ACL) error {
	for end := 1; ; end++ {
		next := strings.IndexByte(path[end:], '/')
		if next < 0 {
			return nil
		}
		end += next
		_, err := c.Create(path[:end], nil, zk.FlagPersistent, acl)
		if err != nil && err != zk.ErrNodeExists {
			there, _, existsErr := c.Exists(path[:end]) // it may be there and not ours to create
			if existsErr != nil || !there {
				return err
			}
		}
	}
}
