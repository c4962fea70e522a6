package grpcfence

import (
	"context"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// An Advance raises the marks that a call with token t of the lock on key must
// raise, or says why not. Key is the lock's, and a mark is a resource's: Advance raises
// the mark of every resource that the handler touches, before the handler reads any.
// A mark under the lock's key that no write looks at refuses nobody.
//
//	func advance(ctx context.Context, key string, t distlock.Token) error {
//		id := strings.TrimPrefix(key, "account/")
//		for _, resource := range []string{"balance:" + id, "history:" + id} {
//			if err := fence.Advance(ctx, resource, t); err != nil {
//				return err
//			}
//		}
//		return nil
//	}
//
// The Advance of a redislock.Fence, an etcdlock.Fence, a zklock.Fence, a consullock.Fence
// and an objectfence.Fence is called in this way, and is itself an Advance where the one
// resource has the lock's key for a name. Of a sqlfence.Fence it is AdvanceDB, which
// takes the database too, and of a pglock.Fence the Advance of a transaction that it
// commits. That of a distlock.Fence takes no ctx.
//
// An error that matches distlock.ErrStale or distlock.ErrSource is a refusal. With any
// other, distlock.ErrInvalid too, it is unknown whether the token is good.
type Advance func(ctx context.Context, key string, t distlock.Token) error

// Options change defaults.
type Options struct {
	// Source is the one lock service whose tokens are taken: a call must name it.
	// Empty: what the call says is not looked at.
	Source string
	// Key returns the key of the lock that guards what a call asks for; a token
	// for another key is refused as malformed. Method is the full name; req is
	// nil for streams, whose messages have not come yet. Nil: the handler has to
	// look at the key that distlock.TokenFromContext gives it.
	Key func(ctx context.Context, method string, req any) string
	// Optional says which methods may be called without a token; such a call
	// passes as it is, and no fence is advanced. Nil: none.
	Optional func(method string) bool
}

// UnaryServer returns an interceptor that lets a call reach its handler only with a
// token that advance takes, so that none smaller is taken from then on, and puts key
// and token into the handler's ctx, for distlock.TokenFromContext. The package
// documentation says how it answers the others. Nil options are all defaults.
//
// It panics if advance is nil, or Source is over 128 bytes or not printable ASCII.
func UnaryServer(advance Advance, o *Options) grpc.UnaryServerInterceptor {
	g := newGuard(advance, o)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		ctx, err := g.enter(ctx, info.FullMethod, req)
		if err != nil {
			return nil, err
		}
		return handle(ctx, req)
	}
}

// StreamServer is UnaryServer for streams, which are judged once, as they begin.
func StreamServer(advance Advance, o *Options) grpc.StreamServerInterceptor {
	g := newGuard(advance, o)
	return func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		ctx, err := g.enter(s.Context(), info.FullMethod, nil)
		if err != nil {
			return err
		}
		return handle(srv, &stream{s, ctx})
	}
}

// A stream has a ctx of its own.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *stream) Context() context.Context { return s.ctx }

type guard struct {
	gate    wire.Gate
	options Options
}

func newGuard(advance Advance, o *Options) *guard {
	if advance == nil {
		panic("grpcfence: no fence")
	}
	if o == nil {
		o = new(Options)
	}
	if err := wire.CheckSource(o.Source); err != nil {
		panic("grpcfence: " + err.Error())
	}
	return &guard{wire.Gate{Advance: advance, Source: o.Source}, *o}
}

// enter returns the ctx for the handler, or the status of a refusal.
func (g *guard) enter(ctx context.Context, method string, req any) (context.Context, error) {
	values := metadata.ValueFromIncomingContext(ctx, MetadataKey)
	if len(values) == 0 && g.options.Optional != nil && g.options.Optional(method) {
		return ctx, nil
	}
	var key func() string
	if g.options.Key != nil {
		key = func() string { return g.options.Key(ctx, method, req) }
	}
	t, why := g.gate.Read(values, key)
	if why == "" {
		ctx, why = g.gate.Enter(ctx, t)
	}
	if why != "" {
		return ctx, refuse(why)
	}
	return ctx, nil
}
