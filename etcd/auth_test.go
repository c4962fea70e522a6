package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestAuth switches authentication on for a while, so it runs alone.
func TestAuth(t *testing.T) { onEach(t, testAuth) }

func testAuth(s *space) {
	root := enableAuth(s)
	user := func(c *clientv3.Config) { c.Username, c.Password = "distlock", "secret" }
	a, b := s.clientOn(s.dial(user)), s.clientOn(s.dial(user))
	if err := a.Ping(s.ctx); err != nil {
		s.Errorf("Ping: %v", err)
	}
	l := s.acquire(a, "job")
	if _, err := b.TryAcquire(s.ctx, "job"); !errors.Is(err, distlock.ErrHeld) {
		s.Errorf("TryAcquire: got %v, want ErrHeld", err)
	}
	next := s.wait(s.ctx, b, "job")
	s.eventually("a waiter", func() bool {
		resp, err := root.Get(s.ctx, s.prefix+"job/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && resp.Count == 2
	})
	s.release(l)
	s.release(s.got(next).lease)
	outside := *s
	outside.prefix = "elsewhere/"
	other := outside.clientOn(s.dial(user))
	if err := other.Ping(s.ctx); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		s.Errorf("Ping without rights: got %v", err)
	}
	if _, err := other.Acquire(s.ctx, "job"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		s.Errorf("Acquire without rights: got %v", err)
	}
	anyone := s.clientOn(s.dial())
	if _, err := anyone.Acquire(s.ctx, "job"); !errors.Is(err, rpctypes.ErrUserEmpty) {
		s.Errorf("Acquire without a user: got %v", err)
	}
}

// enableAuth gives the test's prefix to a user and switches authentication
// on, until the test ends. It returns root's client.
func enableAuth(s *space) *clientv3.Client {
	s.Helper()
	must := func(_ any, err error) {
		if err != nil && !errors.Is(err, rpctypes.ErrUserAlreadyExist) && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
			s.Fatal(err)
		}
	}
	grant := func(role string) {
		must(s.admin.RoleGrantPermission(s.ctx, role, s.prefix, clientv3.GetPrefixRangeEnd(s.prefix),
			clientv3.PermissionType(clientv3.PermReadWrite)))
	}
	must(s.admin.RoleAdd(s.ctx, "distlock"))
	grant("distlock")
	must(s.admin.UserAdd(s.ctx, "distlock", "secret"))
	must(s.admin.UserGrantRole(s.ctx, "distlock", "distlock"))
	must(s.admin.UserAdd(s.ctx, "root", "secret"))
	must(s.admin.UserGrantRole(s.ctx, "root", "root"))
	must(s.admin.AuthEnable(s.ctx))
	root := s.dial(func(c *clientv3.Config) { c.Username, c.Password = "root", "secret" })
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := root.AuthDisable(ctx); err != nil {
			s.Errorf("authentication stays on: %v", err)
		}
		for _, name := range []string{"distlock", "root"} {
			_, _ = root.UserDelete(ctx, name)
			_, _ = root.RoleDelete(ctx, name)
		}
	})
	return root
}
