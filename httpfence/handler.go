package httpfence

import (
	"context"
	"net/http"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/wire"
)

// An Advance raises the marks that a request with token t of the lock on key must
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
	// Source is the one lock service whose tokens are taken: a request must name
	// it. Empty: what the request says is not looked at.
	Source string
	// Key returns the key of the lock that guards what r asks for; a token for
	// another key is refused as malformed. Nil: the handler has to look at the
	// key that distlock.TokenFromContext gives it.
	Key func(r *http.Request) string
	// Optional lets requests without the header pass as they are, with no token
	// put into their ctx and no fence advanced: for handlers that also serve
	// reads.
	Optional bool
}

// Handler returns a handler that lets a request reach next only with a token that
// advance takes, so that none smaller is taken from then on, and puts key and token
// into the request's ctx, for distlock.TokenFromContext. The package
// documentation says how it answers the others. Nil options are all defaults.
//
// Handler panics if next or advance is nil, or Source is over 128 bytes or not
// printable ASCII.
func Handler(next http.Handler, advance Advance, o *Options) http.Handler {
	if next == nil || advance == nil {
		panic("httpfence: Handler without a handler or a fence")
	}
	if o == nil {
		o = new(Options)
	}
	if err := wire.CheckSource(o.Source); err != nil {
		panic("httpfence: " + err.Error())
	}
	return &handler{next, wire.Gate{Advance: advance, Source: o.Source}, *o}
}

type handler struct {
	next    http.Handler
	gate    wire.Gate
	options Options
}

// ServeHTTP is http.Handler's.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fields := r.Header.Values(Header)
	if len(fields) == 0 && h.options.Optional {
		h.next.ServeHTTP(w, r)
		return
	}
	var key func() string
	if h.options.Key != nil {
		key = func() string { return h.options.Key(r) }
	}
	ctx := r.Context()
	t, why := h.gate.Read(fields, key)
	if why == "" {
		ctx, why = h.gate.Enter(ctx, t)
	}
	if why != "" {
		w.Header().Set(RefusedHeader, string(why))
		http.Error(w, why.Text(), statuses[why])
		return
	}
	h.next.ServeHTTP(w, r.WithContext(ctx))
}
