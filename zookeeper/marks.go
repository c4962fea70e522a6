package zookeeper

import (
	"context"

	"github.com/distlock-go/distlock/internal/mark"
	"github.com/go-zookeeper/zk"
)

// marks are those of a Fence. Their version is the node's and one, since a node
// begins with 0.
type marks struct {
	conn *zk.Conn
	root string
	acl  []zk.ACL
}

func (m *marks) path(key string) string { return m.root + "/" + escape(key) }

// Read has the servers agree first: without it a server that is behind would have a mark
// refuse tokens that a Reset has let in, or let those in that it refuses.
func (m *marks) Read(ctx context.Context, key string) (text string, version int64, err error) {
	type node struct {
		data []byte
		stat *zk.Stat
	}
	n, err := send(ctx, func() (n node, err error) {
		if err = agree(m.conn, m.path(key)); err == nil {
			n.data, n.stat, err = m.conn.Get(m.path(key))
		}
		return n, err
	})
	switch err {
	case nil:
		return string(n.data), int64(n.stat.Version) + 1, nil
	case zk.ErrNoNode:
		return "", 0, nil
	}
	return "", 0, err
}

func (m *marks) Swap(ctx context.Context, key, text string, version int64) (now int64, err error) {
	now, err = send(ctx, func() (int64, error) {
		if version == 0 {
			return 1, m.create(key, text)
		}
		stat, err := m.conn.Set(m.path(key), []byte(text), int32(version-1))
		if err != nil {
			return 0, err
		}
		return int64(stat.Version) + 1, nil
	})
	if err == zk.ErrNodeExists || isMoved(err) {
		err = mark.ErrMoved
	}
	return now, err
}

func (m *marks) create(key, text string) error {
	_, err := m.conn.Create(m.path(key), []byte(text), zk.FlagPersistent, m.acl)
	if err != zk.ErrNoNode {
		return err
	}
	if err := putAbove(m.conn, m.path(key), m.acl); err != nil {
		return err
	}
	_, err = m.conn.Create(m.path(key), []byte(text), zk.FlagPersistent, m.acl)
	return err
}

func (m *marks) Refused(err error) bool { return isAnswer(err) }

// multi carries ops out if the mark of key is in this version. The client library
// sends nothing twice.
func (m *marks) multi(ctx context.Context, key string, version int64, ops ...any) ([]zk.MultiResponse, error) {
	check := &zk.CheckVersionRequest{Path: m.path(key), Version: int32(version - 1)}
	results, err := send(ctx, func() ([]zk.MultiResponse, error) {
		return m.conn.Multi(append([]any{check}, ops...)...)
	})
	switch {
	case len(results) == 0:
		return nil, err
	case isMoved(results[0].Error):
		return nil, mark.ErrMoved
	}
	return results[1:], err
}

// isMoved reports whether err says that a node is in another version, or gone.
func isMoved(err error) bool { return err == zk.ErrBadVersion || err == zk.ErrNoNode }

// send runs f, which makes requests of the client library's, until ctx ends. Then f
// goes on by itself.
func send[T any](ctx context.Context, f func() (T, error)) (T, error) {
	select {
	case r := <-start(f):
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
