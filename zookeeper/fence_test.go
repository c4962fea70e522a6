package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/fencetest"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// fence returns one on conn, with marks of the test's own.
func (s *space) fence(conn *zk.Conn, source string) *zklock.Fence {
	return zklock.NewFence(conn, zklock.FenceOptions{Source: source, Root: s.root + "/a/marks"})
}

// data is the node of a resource.
func (s *space) data(key string) string { return s.root + "/data-" + zklock.Escape(key) }

// open returns the fence of a source on the connection that next returns.
func (s *space) open(next func() *zk.Conn) func(source string) fencetest.Fence {
	return func(source string) fencetest.Fence {
		conn := next()
		f := s.fence(conn, source)
		return fencetest.Fence{
			Advance: f.Advance,
			Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
				set := &zk.SetDataRequest{Path: s.data(key), Data: []byte(content), Version: -1}
				_, err := f.Multi(ctx, key, t, set)
				if errors.Is(err, zk.ErrNoNode) {
					_, err = f.Multi(ctx, key, t, &zk.CreateRequest{Path: s.data(key), Data: []byte(content), Acl: zk.WorldACL(zk.PermAll)})
				}
				if errors.Is(err, zk.ErrNodeExists) {
					_, err = f.Multi(ctx, key, t, set)
				}
				return err
			},
			Read: func(_ context.Context, key string) (string, error) {
				if _, err := conn.Sync(s.data(key)); err != nil {
					return "", err
				}
				data, _, err := conn.Get(s.data(key))
				if err == zk.ErrNoNode {
					err = nil
				}
				return string(data), err
			},
			Reset: f.Reset,
			LateReset: func(ctx context.Context, key string, between func()) error {
				late := &lateDialer{between: between}
				conn, _, err := zk.Connect([]string{conn.Server()}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(late.dial))
				if err != nil {
					return err
				}
				defer conn.Close()
				return s.fence(conn, source).Reset(ctx, key)
			},
			Fail: func(ctx context.Context, key string, t distlock.Token) error {
				_, err := f.Multi(ctx, key, t, &zk.SetDataRequest{Path: s.data(key), Data: []byte("x"), Version: 99})
				return err
			},
		}
	}
}

// A lateDialer makes one connection, before whose first write of a node something happens.
type lateDialer struct {
	net.Conn
	between func()
}

func (d *lateDialer) dial(network, address string, timeout time.Duration) (conn net.Conn, err error) {
	d.Conn, err = net.DialTimeout(network, address, timeout)
	return d, err
}

func (d *lateDialer) Write(p []byte) (int, error) {
	const create, setData = 1, 5
	if len(p) >= 12 && d.between != nil {
		if kind := binary.BigEndian.Uint32(p[8:]); kind == create || kind == setData {
			d.between()
			d.between = nil
		}
	}
	return d.Conn.Write(p)
}

// Each fence is on the next server of the ensemble: what one has answered, another
// may not have seen yet.
func TestFence(t *testing.T) {
	t.Parallel()
	for _, e := range ensembles {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			var conns []*zk.Conn
			for _, server := range addresses(t, e.env) {
				conns = append(conns, connect(t, []string{server}))
			}
			s := &space{TB: t, admin: conns[0], root: "/test-" + distlock.NewOwner().Text()}
			if _, err := s.admin.Create(s.root, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
			var n atomic.Int32
			next := func() *zk.Conn { return conns[int(n.Add(1))%len(conns)] }
			fencetest.Run(t, fencetest.Harness{Open: s.open(next), Spoil: func(_ context.Context, key, text string) error {
				_, err := s.admin.Set(s.root+"/a/marks/"+zklock.Escape(key), []byte(text), -1)
				return err
			}})
		})
	}
}

// The results are those of the caller's operations.
func TestFenceMulti(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	f := s.fence(s.admin, "a")
	ctx := within(t, time.Minute)
	acl := zk.WorldACL(zk.PermAll)
	results, err := f.Multi(ctx, "k", 5,
		&zk.CreateRequest{Path: s.root + "/x", Acl: acl},
		&zk.CreateRequest{Path: s.root + "/x/y", Acl: acl})
	if err != nil || len(results) != 2 || results[1].String != s.root+"/x/y" {
		t.Fatalf("got %v, %v", results, err)
	}
	results, err = f.Multi(ctx, "k", 5,
		&zk.SetDataRequest{Path: s.root + "/x", Version: 0},
		&zk.SetDataRequest{Path: s.root + "/x/y", Version: 7})
	if !errors.Is(err, zk.ErrBadVersion) || strings.Contains(err.Error(), "unknown") || len(results) != 2 || results[1].Error != zk.ErrBadVersion {
		t.Errorf("got %v, %v, want ErrBadVersion of the second one", results, err)
	}
	if results, err = f.Multi(ctx, "k", 4, &zk.DeleteRequest{Path: s.root + "/x/y", Version: -1}); !errors.Is(err, distlock.ErrStale) || results != nil {
		t.Errorf("got %v, %v, want ErrStale", results, err)
	}
}

// A cutter loses the answers to requests of the kind that is asked for, with their
// connection, once the server has them.
type cutter struct{ kind atomic.Int32 }

// cutConn is one of its connections.
type cutConn struct {
	net.Conn
	by     *cutter
	doomed atomic.Bool
}

func (c *cutter) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	return &cutConn{Conn: conn, by: c}, err
}

func (c *cutConn) Write(p []byte) (int, error) {
	if kind := c.by.kind.Load(); kind != 0 && len(p) >= 12 && int32(binary.BigEndian.Uint32(p[8:])) == kind {
		c.doomed.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.doomed.Load() { // the server has answered
		c.by.kind.Store(0)
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// A write whose reply is lost is told as unknown, was carried out once and is not
// repeated, and the fence goes on.
func TestFenceLostReply(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	cut := new(cutter)
	conn, _, err := zk.Connect(s.servers, 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(cut.dial))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f, ctx := s.fence(conn, "a"), within(t, time.Minute)
	if err := f.Advance(ctx, "k", 5); err != nil {
		t.Fatal(err)
	}
	const multi, setData = 14, 5
	write := func(name string) error {
		_, err := f.Multi(ctx, "k", 5, &zk.CreateRequest{Path: s.root + "/" + name, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagSequence})
		return err
	}
	cut.kind.Store(multi)
	isUnknown(t, "Multi", write("first-"))
	cut.kind.Store(setData)
	isUnknown(t, "Advance", f.Advance(ctx, "k", 6))
	names, _, err := s.admin.Children(s.root)
	if err != nil || len(names) != 2 { // with the marks' parent
		t.Errorf("got %v, %v, want one node beside the marks", names, err)
	}
	if err := write("late-"); !errors.Is(err, distlock.ErrStale) {
		t.Errorf("after an Advance whose reply was lost: got %v, want ErrStale", err)
	}
	if err := f.Advance(ctx, "k", 6); err != nil {
		t.Errorf("Advance once more: %v", err)
	}
}

func isUnknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "unknown whether") ||
		errors.Is(err, distlock.ErrStale) || errors.Is(err, distlock.ErrInvalid) {
		t.Errorf("%s: got %v, want that its outcome is unknown", what, err)
	}
}

// What waits for a server that does not answer ends with its context.
func TestFenceEndsWithContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	conn, _, err := zk.Connect([]string{silent.Addr().String()}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f := zklock.NewFence(conn, zklock.FenceOptions{Source: "a"})
	for name, do := range map[string]func(context.Context) error{
		"Advance": func(ctx context.Context) error { return f.Advance(ctx, "k", 1) },
		"Multi":   func(ctx context.Context) error { _, err := f.Multi(ctx, "k", 1); return err },
		"Reset":   func(ctx context.Context) error { return f.Reset(ctx, "k") },
	} {
		if err := do(within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the context's error", name, err)
		}
	}
}

func TestFenceArguments(t *testing.T) {
	t.Parallel()
	conn := new(zk.Conn) // that would panic
	good := zklock.NewFence(conn, zklock.FenceOptions{Source: "a"})
	_, noOp := good.Multi(t.Context(), "k", 1, nil)
	_, wrongOp := good.Multi(t.Context(), "k", 1, zk.SetDataRequest{})
	_, noToken := good.Multi(t.Context(), "k", 0)
	for name, err := range map[string]error{
		"no connection":   zklock.NewFence(nil, zklock.FenceOptions{Source: "a"}).Advance(t.Context(), "k", 1),
		"no source":       zklock.NewFence(conn, zklock.FenceOptions{}).Advance(t.Context(), "k", 1),
		"root":            zklock.NewFence(conn, zklock.FenceOptions{Source: "a", Root: "marks"}).Reset(t.Context(), "k"),
		"empty key":       good.Advance(t.Context(), "", 1),
		"no operation":    noOp,
		"wrong operation": wrongOp,
		"no token":        noToken,
	} {
		if !errors.Is(err, distlock.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
