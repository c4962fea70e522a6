package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/pause"
	"github.com/distlock-go/distlock/internal/round"
	"github.com/go-zookeeper/zk"
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect reads the queue of key, over a connection and a session that it opens for
// that and closes, as Ping does. The ensemble agrees on the opening of a session, and
// the server that reads has seen it, so the answer is no older than the call. Nodes
// with other names count as little as they do for the lock. A node with a name like
// ours that is at the head of the queue and not ephemeral, or whose owner is none, is
// distlock.ErrForeign. ZooKeeper does not tell how long a session has left.
func (b *Backend) Inspect(ctx context.Context, key string) (distlock.LockInfo, error) {
	s, err := b.open(ctx, b.visit())
	if err != nil {
		return distlock.LockInfo{}, err
	}
	defer s.leave(ctx)
	h, err := s.head(ctx, b.keyPath(key))
	if err != nil || h.path == "" {
		return distlock.LockInfo{}, err
	}
	return distlock.LockInfo{Held: h.token != 0, Token: h.token, Holder: h.holder, Left: -1, Waiters: h.waiters}, nil
}

// visit is what a session lives by that is closed soon: by MinTTL, as far as servers
// with this tick grant it.
func (b *Backend) visit() distlock.Terms {
	tick := b.opts.Tick
	return distlock.Terms{TTL: min(max(leastTicks*tick, MinTTL), mostTicks*tick)}
}

// leave closes the session, in the background where ctx has ended.
func (s *session) leave(ctx context.Context) {
	if ctx.Err() != nil {
		s.abandon()
	} else {
		_ = s.Close(ctx)
	}
}

// A head is the first node of a queue. Without a path there is none.
type head struct {
	path    string
	token   distlock.Token // 0: it is nobody's, and keeps the key for a lock-delay
	holder  string
	waiters int // how many nodes are behind it
}

// head reads the queue below parent, as the majority has it.
func (s *session) head(ctx context.Context, parent string) (head, error) {
	if _, err := retry(ctx, s, func() (struct{}, error) { return struct{}{}, agree(s.zk, parent) }); err != nil {
		return head{}, err
	}
	for {
		names, err := retry(ctx, s, func() (names []string, err error) {
			names, _, err = s.zk.Children(parent)
			return names, err
		})
		if errors.Is(err, zk.ErrNoNode) {
			return head{}, nil
		}
		first, waiters := firstOf(names)
		if err != nil || first == "" {
			return head{}, err
		}
		h := head{path: parent + "/" + first, waiters: waiters}
		if err = s.read(ctx, &h); !errors.Is(err, zk.ErrNoNode) { // it has just gone
			return h, err
		}
	}
}

// firstOf returns the first of our nodes among names, and how many others there are.
func firstOf(names []string) (first string, others int) {
	var least int32
	others = -1
	for _, name := range names {
		seq, ok := sequence(name)
		if !ok {
			continue
		}
		if others++; others == 0 || before(seq, least) {
			first, least = name, seq
		}
	}
	return first, others
}

// read fills in what h's node tells.
func (s *session) read(ctx context.Context, h *head) error {
	var stat *zk.Stat
	data, err := retry(ctx, s, func() (data []byte, err error) {
		data, stat, err = s.zk.Get(h.path)
		return data, err
	})
	if err != nil {
		return err
	}
	owner, ok := ownerOf(h.path)
	switch {
	case !ok || stat.EphemeralOwner == 0:
		return fmt.Errorf("%w: the first node of the queue is no session's", distlock.ErrForeign)
	case owner == distlock.Owner{}:
		return nil
	}
	h.token, h.holder = distlock.Token(stat.Czxid), string(data)
	return nil
}

// Break deletes the holder's node if its czxid is t. No other grant ever has that
// node's name. Its holder is told at once, and the next in the queue. It uses a
// connection of its own, as Inspect does.
//
// With a delay the same transaction puts a node in that place that is nobody's, before
// all who wait. It is of the session that is open for this call, whose time-out is
// the delay, and which is left to run out, so that the key stays taken for the delay
// from now on whatever becomes of the caller: from two ticks on, 4 s by default, and up
// to two ticks longer. That the servers count the session's time anew from then on
// takes the call a tick more to make sure of.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	terms := b.visit()
	if delay > 0 {
		terms.TTL = max(round.Up(delay, time.Millisecond), leastTicks*b.opts.Tick)
	}
	s, err := b.open(ctx, terms)
	if err != nil {
		return err
	}
	defer s.leave(ctx)
	h, err := s.head(ctx, b.keyPath(key))
	if err == nil {
		err = distlock.CheckPresent(h.token, t)
	}
	switch {
	case err != nil:
		return err
	case delay > 0:
		return s.replace(ctx, h)
	}
	return s.deleteHead(ctx, h)
}

var errJustEnded = fmt.Errorf("%w: it has just ended", distlock.ErrStale)

// deleteHead deletes h's node. One that is not there counts as deleted if an answer
// to an earlier request is missing.
func (s *session) deleteHead(ctx context.Context, h head) error {
	asked := false
	_, err := retry(ctx, s, func() (struct{}, error) {
		err := s.zk.Delete(h.path, -1)
		switch {
		case isBroken(err):
			asked = true
		case err == zk.ErrNoNode && asked:
			err = nil
		}
		return struct{}{}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return errJustEnded
	}
	return err
}

// replace puts a node of this session's, and nobody's, into the place of h's, and
// has the session run out. Whether it did, if an answer is missing, shows the node.
func (s *session) replace(ctx context.Context, h head) error {
	name := h.path[strings.LastIndexByte(h.path, '/')+1:]
	path := strings.TrimSuffix(h.path, name) + prefix(distlock.Owner{}) + name[guidLen:]
	_, err := retry(ctx, s, func() (struct{}, error) {
		_, err := s.zk.Multi(&zk.DeleteRequest{Path: h.path, Version: -1},
			&zk.CreateRequest{Path: path, Acl: s.backend.opts.ACL, Flags: zk.FlagEphemeral})
		if err == zk.ErrNoNode {
			there, stat, existsErr := s.zk.Exists(path)
			if existsErr != nil || there && stat.EphemeralOwner == s.id {
				err = existsErr
			}
		}
		return struct{}{}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return errJustEnded
	}
	defer s.link.shut() // also where it is not known whether it did
	if err != nil {
		return err
	}
	return s.confirm(ctx)
}

// confirm waits until the servers are known to count the session's time from now on
// or later: see pulse.
func (s *session) confirm(ctx context.Context) error {
	if _, err := s.KeepAlive(ctx, 0); err != nil {
		return err
	}
	if err := pause.For(ctx, s.backend.opts.Tick); err != nil {
		return err
	}
	_, err := s.KeepAlive(ctx, 0)
	return err
}
