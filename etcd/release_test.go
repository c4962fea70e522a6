package etcd_test

import (
	"context"
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// A request that was answered by a refusal has not released what is found gone
// later. Here an operator has deleted it.
func TestRefusedReleaseReleasesNothing(t *testing.T) {
	t.Parallel()
	type passes struct{}
	gate := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if method == "/etcdserverpb.KV/Txn" && ctx.Value(passes{}) == nil {
			return rpctypes.ErrGRPCNoSpace
		}
		return next(ctx, method, req, reply, cc, opts...)
	}
	s := newSpace(t)
	tried := make(chan struct{}, 1000)
	c := s.clientOn(dial(t, func(c *clientv3.Config) {
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(gate))
	}), distlock.WithTrace(&distlock.Trace{CleanedUp: func(distlock.CleanupInfo) { tried <- struct{}{} }}))
	open := context.WithValue(s.ctx, passes{}, true)
	l, err := c.Acquire(open, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("got %v from a Release without space", err)
	}
	if _, err := s.admin.Delete(s.ctx, s.prefix+"k/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		<-tried // by the client, behind the call; the next time in half a second
	}
	if err := l.Release(open); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
}
