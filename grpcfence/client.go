package grpcfence

import (
	"context"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// MetadataKey is the key of the metadata that carries the token.
const MetadataKey = "distlock-token"

// UnaryClient returns an interceptor that puts the key and the token of the lease
// in a call's ctx (see Lease.Context) into its metadata, in place of any that are
// there. A call without a lease in its ctx is sent as it is. Source names the lock
// service, if the other side wants to know: up to 128 bytes of printable ASCII, or
// empty. Where the lease has no token (FencingNone), or source is out of its bounds,
// nothing is sent and the error is a status INVALID_ARGUMENT.
func UnaryClient(source string) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		ctx, err := outgoing(ctx, source)
		if err != nil {
			return err
		}
		return call(ctx, method, req, reply, conn, opts...)
	}
}

// StreamClient is UnaryClient for streams. The token is sent once, as the stream
// begins.
func StreamClient(source string) grpc.StreamClientInterceptor {
	return func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		ctx, err := outgoing(ctx, source)
		if err != nil {
			return nil, err
		}
		return open(ctx, desc, conn, method, opts...)
	}
}

// outgoing returns ctx with the token in its metadata.
func outgoing(ctx context.Context, source string) (context.Context, error) {
	key, token, ok := distlock.TokenFromContext(ctx)
	if !ok {
		return ctx, nil
	}
	w := wire.Token{Key: key, Token: token, Source: source}
	if err := w.Check(); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "grpcfence: %v", err)
	}
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = make(metadata.MD)
	}
	md.Set(MetadataKey, w.Text())
	return metadata.NewOutgoingContext(ctx, md), nil
}
