package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

func TestConformance(t *testing.T) {
	for _, e := range ensembles {
		t.Run(e.name, func(t *testing.T) { locktest.Run(t, harness(t, addresses(t, e.env))) })
	}
}

// harness describes the ensemble that servers are the members of. Every run
// has a root of its own.
func harness(t *testing.T, servers []string) locktest.Harness {
	admin := connect(t, servers)
	root := "/conformance-" + distlock.NewOwner().Text()
	opts := &zklock.Options{Root: root, Tick: tick}
	nodes := func(key string) ([]string, error) {
		if _, err := admin.Sync(root); err != nil { // what the server behind admin has may be old
			return nil, err
		}
		names, _, err := admin.Children(root + "/" + escaped(key))
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		for i := range names {
			names[i] = root + "/" + escaped(key) + "/" + names[i]
		}
		return names, err
	}
	return locktest.Harness{
		TTL:       3 * time.Second,
		Parallel:  8,                       // two cores have this and the servers to run
		LockDelay: 2 * time.Second,         // what a session has to live by that keeps a broken lock's key
		Reconnect: 1500 * time.Millisecond, // the client library pauses for a second after a round of its servers
		Backend:   func(testing.TB) distlock.Backend { return zklock.New(servers, opts) },
		Delete: func(_ context.Context, key string) error {
			names, err := nodes(key)
			for _, n := range names {
				err = errors.Join(err, admin.Delete(n, -1))
			}
			return err
		},
		DeleteCounter: func(_ context.Context, key string) error { // the parent has the sequence
			err := admin.Delete(root+"/"+escaped(key), -1)
			if errors.Is(err, zk.ErrNoNode) {
				return nil // it was empty, and the server has found out
			}
			return err
		},
		Expel: func(ctx context.Context, key string) error {
			names, err := nodes(key)
			if err != nil || len(names) == 0 {
				return fmt.Errorf("no holder: %w", err)
			}
			_, stat, err := admin.Exists(names[0])
			if err != nil {
				return err
			}
			return kill(ctx, servers[0], stat.EphemeralOwner)
		},
		Foreign: func(_ context.Context, key string) error {
			parent := root + "/" + escaped(key)
			for _, path := range []string{root, parent, parent + "/" + strings.Repeat("ab", 20) + "-0000000000"} {
				_, err := admin.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
				if err != nil && !errors.Is(err, zk.ErrNodeExists) {
					return err
				}
			}
			return nil
		},
		Residue: func(_ context.Context, key string) (int, error) {
			names, err := nodes(key)
			return len(names), err
		},
		Sessions: func(ctx context.Context) (int, error) { return sessions(ctx, servers) },
		Link: func(t testing.TB) (distlock.Backend, locktest.Link) {
			p := locktest.NewProxy(t, servers[0])
			return zklock.New([]string{p.Addr()}, opts), p
		},
		Without: map[string]string{"Restart": "the servers are shared; restarts are in the fault suite"},
	}
}

// escaped is the documented escape of keys.
func escaped(key string) string {
	var e strings.Builder
	for i, c := range []byte(key) {
		if strings.IndexByte("-_.:@=+,~", c) >= 0 && (c != '.' || i > 0) ||
			'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			e.WriteByte(c)
		} else {
			fmt.Fprintf(&e, "%%%02X", c)
		}
	}
	return e.String()
}

// sessions counts the connections that clients have to all servers.
func sessions(ctx context.Context, servers []string) (int, error) {
	total := 0
	for _, s := range servers {
		text, err := fourLetters(ctx, s, "mntr")
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(text) {
			if v, ok := strings.CutPrefix(line, "zk_num_alive_connections"); ok {
				n, err := strconv.Atoi(strings.TrimSpace(v))
				if err != nil {
					return 0, err
				}
				total += n
			}
		}
	}
	return total, nil
}

// fourLetters sends one of the servers' four-letter commands.
func fourLetters(ctx context.Context, server, command string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end)
	}
	if _, err := io.WriteString(c, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(c)
	return string(text), err
}
