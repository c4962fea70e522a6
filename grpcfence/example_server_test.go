package grpcfence_test

import (
	"context"
	"fmt"
	"net"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcfence"
	"github.com/distlock-go/distlock/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
)

// shelves is a service with a resource. In its place any generated server stands.
type shelves struct {
	health.UnimplementedHealthServer
}

func (shelves) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	key, token, _ := distlock.TokenFromContext(ctx)
	fmt.Println("written to", key, "with token", token)
	return new(health.HealthCheckResponse), nil
}

// A holder that is stopped past its lease calls when somebody else has called. Its
// call does not reach the service.
func Example() {
	var fence distlock.Fence // the service's own; in SQL it is sqlfence
	advance := func(_ context.Context, key string, t distlock.Token) error { return fence.Advance(key, t) }
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServer(advance, nil)))
	defer server.Stop()
	health.RegisterHealthServer(server, shelves{})
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	go server.Serve(listener)

	conn, _ := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClient("")))
	defer conn.Close()
	write := func(lease context.Context) error {
		_, err := health.NewHealthClient(conn).Check(lease, new(health.HealthCheckRequest))
		return grpcfence.Refusal(err)
	}

	ctx := context.Background()
	service := memory.New()
	client, _ := distlock.New(service)
	defer client.Close(ctx)
	slow, _ := client.Acquire(ctx, "shelf-9")
	service.Expire("shelf-9") // and slow does not know yet

	other, _ := distlock.New(service)
	defer other.Close(ctx)
	next, _ := other.Acquire(ctx, "shelf-9")
	fmt.Println("next:", write(next.Context(ctx)))
	fmt.Println("slow:", write(slow.Context(ctx)))
	// Output:
	// written to shelf-9 with token 2
	// next: <nil>
	// slow: grpcfence: refused (stale): stale token: rpc error: code = Aborted desc = a later holder of the lock has come
}
