package distlock

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
)

// A Token orders the grants of one key: a later grant has a larger token. 0 is
// no token. Tokens fit in a signed 64-bit column.
type Token uint64

// String returns t in decimal.
func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// ParseToken reads what String wrote: decimal digits without sign, space or
// leading zero, from 1 to 2^63-1. Anything else is ErrInvalid.
func ParseToken(s string) (Token, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || s[0] == '0' {
		return 0, Invalid("token", strconv.Quote(s), "a decimal from 1 to 9223372036854775807")
	}
	return Token(n), nil
}

// Fencing says what a backend's tokens are worth.
type Fencing int

// The levels, each including the ones before it.
const (
	// FencingNone: there are no tokens; Lease.Token is 0.
	FencingNone Fencing = iota
	// FencingBestEffort: strictly increasing while the server keeps its data.
	// Having lost it, only if the clock of the server that now answers is past
	// the last token; in a split brain, the grants of two servers can
	// interleave.
	FencingBestEffort
	// FencingDurable: strictly increasing across restart, failover and the
	// loss of any minority. Not across the restore of a backup.
	FencingDurable
)

// String returns "none", "best effort" or "durable".
func (f Fencing) String() string {
	switch f {
	case FencingNone:
		return "none"
	case FencingBestEffort:
		return "best effort"
	case FencingDurable:
		return "durable"
	}
	return "Fencing(" + strconv.Itoa(int(f)) + ")"
}

// A Fence is the resource's side of the check, for a resource that lives in
// this process. It remembers the largest token it has seen for each key and
// refuses smaller ones. It must stand where the resource is: a Fence in each of
// several workers knows nothing of the others' tokens and refuses nobody. The
// zero value is ready; a Fence must not be copied.
//
// A mark has no expiry: it stays for the life of the Fence, about 100 bytes a
// key. A mark means something only for the tokens of one lock service, so use
// one Fence for one source. Each resource has its own mark: a new holder
// advances every resource it will touch before it reads any, or a write that
// was sent before could still come between its read and its write.
//
// All methods are safe for concurrent use; keys do not wait for each other.
type Fence struct {
	mu    sync.Mutex // guards marks, not what they point to
	marks map[string]*mark
}

type mark struct {
	mu  sync.Mutex // held for the whole write, so that check and write are one step
	max Token
}

// Advance raises the mark of key to t, at take-over and before the first read.
// A t smaller than the mark is ErrStale; one of 0 or over 2^63-1, and a key that
// CheckKey refuses, are ErrInvalid. The mark is then unchanged. An equal t is
// accepted: one holder comes many times.
func (f *Fence) Advance(key string, t Token) error {
	return f.Do(key, t, func() error { return nil })
}

// Do calls write if t is not smaller than the mark of key, and raises the mark
// to t before it does. It holds the mark until write returns, so that no other
// token is checked meanwhile; other keys go on. Errors of the check are those
// of Advance, and then write is not called; otherwise Do returns write's
// error. An error or a panic of write leaves the mark raised. Write must not
// use the same key of the same Fence again.
func (f *Fence) Do(key string, t Token, write func() error) error {
	err := cmp.Or(CheckKey(key), CheckToken(t))
	if err == nil && write == nil {
		err = Invalid("write", "nil", "a function")
	}
	if err != nil {
		return fmt.Errorf("distlock: fence %q: %w", key, err)
	}
	m := f.mark(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	if t < m.max {
		return fmt.Errorf("distlock: fence %q: %w: %v is smaller than %v", key, ErrStale, t, m.max)
	}
	m.max = t
	return write()
}

func (f *Fence) mark(key string) *mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.marks[key]
	if m == nil {
		if f.marks == nil {
			f.marks = make(map[string]*mark)
		}
		m = new(mark)
		f.marks[key] = m
	}
	return m
}

// TokenFromContext returns the key and the token of the innermost lease whose
// Context ctx comes from, or what ContextWithToken has put there if that is
// further in. ok is false where there is none. It says nothing of whether the
// lease is still valid. It allocates nothing.
func TokenFromContext(ctx context.Context) (key string, t Token, ok bool) {
	switch v := ctx.Value(leaseKey{}).(type) {
	case *Lease:
		return v.Key(), v.Token(), true
	case *carried:
		return v.key, v.token, true
	}
	return "", 0, false
}

// ContextWithToken returns a context that carries the key and the token of a
// lease that is held elsewhere, for TokenFromContext: a service that was handed
// them in a request passes them on to its fences. It checks neither, and the
// context does not end when the lease does.
func ContextWithToken(parent context.Context, key string, t Token) context.Context {
	return context.WithValue(parent, leaseKey{}, &carried{key, t})
}

// leaseKey is the context key under which a lease's Context carries it.
type leaseKey struct{}

// carried is what a context has of a lease of another process.
type carried struct {
	key   string
	token Token
}
