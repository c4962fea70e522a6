package memsession

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect tells which owner has key, and how many wait for it unless they poll.
func (b *Backend) Inspect(ctx context.Context, key string) (info distlock.LockInfo, err error) {
	err = b.call(ctx, Inspect, key, func() error {
		info = b.service.inspect(key, b.opts)
		return nil
	})
	return info, err
}

func (s *Service) inspect(key string, o Options) (info distlock.LockInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := s.keys[key]
	if len(nodes) > 0 {
		n := nodes[0]
		info = distlock.LockInfo{Held: n.token != 0, Token: n.token, Holder: n.holder, Left: time.Until(n.remote.until)}
	}
	switch {
	case o.Queue:
		info.Waiters = max(len(nodes)-1, 0)
	case o.Wake:
		for w := range s.watchers {
			if w.key == key {
				info.Waiters++
			}
		}
	default:
		info.Waiters = -1
	}
	return info
}

// Break removes the node of key that has token t, and tells its client. With a
// delay, a node of nobody's takes its place, of a session that nobody keeps alive.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	return b.call(ctx, Break, key, func() error {
		var nobody *remote
		if delay > 0 {
			nobody = b.service.open(nil, delay)
		}
		err := b.service.breakNode(key, t, nobody)
		if err != nil && nobody != nil {
			b.service.end(nobody, false)
		}
		return err
	})
}

func (s *Service) breakNode(key string, t distlock.Token, nobody *remote) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := s.keys[key]
	if len(nodes) == 0 || nodes[0].token != t {
		return fmt.Errorf("%w: that grant does not have the key", distlock.ErrStale)
	}
	n := nodes[0]
	n.remote.tell(n.owner)
	if nobody == nil {
		s.remove(key, n)
		return nil
	}
	n.gone = true
	first := &node{remote: nobody, owner: distlock.NewOwner(), moved: n.moved}
	s.keys[key] = append([]*node{first}, nodes[1:]...)
	return nil
}
