package grpcfence_test

import (
	"context"
	"net"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcfence"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"
)

// local makes an Advance of a fence in this process.
func local(f *distlock.Fence) grpcfence.Advance {
	return func(_ context.Context, key string, t distlock.Token) error { return f.Advance(key, t) }
}

// A service notes what it finds in the ctx of its calls.
type service struct {
	health.UnimplementedHealthServer
	called chan string
}

func (s *service) note(ctx context.Context) {
	key, token, ok := distlock.TokenFromContext(ctx)
	if !ok {
		key = "none"
	}
	s.called <- key + " " + token.String()
}

func (s *service) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	s.note(ctx)
	return new(health.HealthCheckResponse), nil
}

func (s *service) Watch(_ *health.HealthCheckRequest, stream health.Health_WatchServer) error {
	s.note(stream.Context())
	return stream.Send(new(health.HealthCheckResponse))
}

// serve runs a guarded service and returns a client of it that carries tokens.
func serve(t testing.TB, advance grpcfence.Advance, o *grpcfence.Options, source string) (health.HealthClient, *service) {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer(
		grpc.UnaryInterceptor(grpcfence.UnaryServer(advance, o)),
		grpc.StreamInterceptor(grpcfence.StreamServer(advance, o)))
	s := &service{called: make(chan string, 1)}
	health.RegisterHealthServer(server, s)
	go server.Serve(listener) // ends with Stop
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:test",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClient(source)),
		grpc.WithStreamInterceptor(grpcfence.StreamClient(source)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return health.NewHealthClient(conn), s
}

// kinds are the two ways to call the service.
var kinds = map[string]func(context.Context, health.HealthClient) error{
	"unary": func(ctx context.Context, c health.HealthClient) error {
		_, err := c.Check(ctx, &health.HealthCheckRequest{Service: "res"})
		return err
	},
	"stream": func(ctx context.Context, c health.HealthClient) error {
		stream, err := c.Watch(ctx, &health.HealthCheckRequest{Service: "res"})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	},
}
