package grpcfence_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcfence"
	"github.com/distlock-go/distlock/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// shelves is a service with resources. In its place any generated server stands.
type shelves struct {
	health.UnimplementedHealthServer
	fence *distlock.Fence // the service's own; in SQL it is sqlfence
}

// key is that of the lock on the shelf that a call is about.
func (shelves) key(_ context.Context, _ string, req any) string {
	r, _ := req.(*health.HealthCheckRequest)
	return "shelf-" + r.GetService()
}

// advance raises the marks of all that a call may touch. The lock on a shelf guards
// its stock and its price, and each has a mark.
func (s shelves) advance(_ context.Context, key string, t distlock.Token) error {
	id := strings.TrimPrefix(key, "shelf-") // which it has: see key
	for _, resource := range []string{"stock-" + id, "price-" + id} {
		if err := s.fence.Advance(resource, t); err != nil {
			return err
		}
	}
	return nil
}

// Check changes the stock: the fence compares the token once more, in the step that writes.
func (s shelves) Check(ctx context.Context, r *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	_, token, _ := distlock.TokenFromContext(ctx)
	err := s.fence.Do("stock-"+r.GetService(), token, func() error {
		fmt.Println("stock written with token", token)
		return nil
	})
	switch {
	case errors.Is(err, distlock.ErrStale): // overtaken after advance
		return nil, status.Error(codes.Aborted, "a later holder of the lock has come")
	case err != nil:
		return nil, status.Error(codes.Internal, "not written")
	}
	return new(health.HealthCheckResponse), nil
}

// A holder that is stopped past its lease calls when somebody else has called. Its
// call does not reach the service.
func Example() {
	service := shelves{fence: new(distlock.Fence)}
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServer(service.advance, &grpcfence.Options{Key: service.key})))
	defer server.Stop()
	health.RegisterHealthServer(server, service)
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	go server.Serve(listener)

	conn, _ := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClient("")))
	defer conn.Close()
	write := func(lease context.Context) error {
		_, err := health.NewHealthClient(conn).Check(lease, &health.HealthCheckRequest{Service: "9"})
		if refusal := grpcfence.Refusal(err); refusal != nil {
			return refusal
		}
		return err
	}

	ctx := context.Background()
	locks := memory.New()
	client, _ := distlock.New(locks)
	defer client.Close(ctx)
	slow, _ := client.Acquire(ctx, "shelf-9")
	locks.Expire("shelf-9") // and slow does not know yet

	other, _ := distlock.New(locks)
	defer other.Close(ctx)
	next, _ := other.Acquire(ctx, "shelf-9")
	fmt.Println("next:", write(next.Context(ctx)))
	fmt.Println("slow:", write(slow.Context(ctx)))
	// Output:
	// stock written with token 2
	// next: <nil>
	// slow: grpcfence: refused (stale): stale token: rpc error: code = Aborted desc = a later holder of the lock has come
}
