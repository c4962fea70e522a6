package httpfence

import (
	"fmt"
	"net/http"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/wire"
)

// Header is the field that carries the token.
const Header = "Distlock-Token"

// A Transport puts the key and the token of the lease in a request's ctx (see
// Lease.Context) into its header, in place of any that is there. A request
// without a lease in its ctx is sent as it is. The zero value is ready; a
// Transport is safe for concurrent use and must not be changed once used.
//
// A redirect to another host goes there without the token. Retries by the Base
// carry the same token, and a ctx that ended with its lease ends the request.
type Transport struct {
	// Base sends the requests. Nil is http.DefaultTransport.
	Base http.RoundTripper
	// Source names the lock service, if the other side wants to know: up to 128
	// bytes of printable ASCII.
	Source string
}

// RoundTrip sends r. Where the lease has no token (FencingNone), or Source is out
// of its bounds, the error matches distlock.ErrInvalid and nothing is sent.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	key, token, ok := distlock.TokenFromContext(r.Context())
	if !ok || leavesHost(r) {
		return base.RoundTrip(r)
	}
	w := wire.Token{Key: key, Token: token, Source: t.Source}
	if err := w.Check(); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper must
		}
		return nil, fmt.Errorf("httpfence: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set(Header, w.Text())
	return base.RoundTrip(r)
}

// leavesHost reports whether r follows redirects to another host than the first.
func leavesHost(r *http.Request) bool {
	first := r
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	return first.URL.Host != r.URL.Host
}
