package wire

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock"
)

// A Refusal is why a request does not get in: the word that its answer has. The
// empty one is none.
type Refusal string

// The refusals.
const (
	Missing   Refusal = "missing"   // there is no token
	Malformed Refusal = "malformed" // it cannot be read, there are several, or it is for another key
	Stale     Refusal = "stale"     // the fence has seen a larger one
	Source    Refusal = "source"    // it is of another lock service than the mark
	Unknown   Refusal = "unknown"   // the fence has not decided, for a reason of this side
)

// refusals are what each says to people, and is to errors.Is.
var refusals = map[Refusal]struct {
	text string
	err  error
}{
	Missing:   {"a fencing token is required", distlock.ErrInvalid},
	Malformed: {"the fencing token cannot be read or is for another key", distlock.ErrInvalid},
	Stale:     {"a later holder of the lock has come", distlock.ErrStale},
	Source:    {"the fencing token is of another lock service", distlock.ErrSource},
	Unknown:   {"the fence has not decided", errUnknown},
}

var errUnknown = errors.New("the fence has not decided")

// Text is a line for people, which shows no mark.
func (r Refusal) Text() string { return refusals[r].text }

// Err returns the sentinel that r stands for, or nil if r is no refusal.
func (r Refusal) Err() error { return refusals[r].err }

// A Gate lets a request in if a fence takes its token.
type Gate struct {
	Advance func(ctx context.Context, key string, t distlock.Token) error
	Source  string // that tokens must name; empty: any
}

// Read returns the token in the fields of a request, of which there must be one.
// Key, unless nil, returns the key that it must be for.
func (g *Gate) Read(fields []string, key func() string) (Token, Refusal) {
	if len(fields) == 0 {
		return Token{}, Missing
	}
	t, err := Parse(fields[0])
	switch {
	case len(fields) > 1, err != nil, key != nil && key() != t.Key:
		return Token{}, Malformed
	case g.Source != "" && t.Source != g.Source:
		return Token{}, Source
	}
	return t, ""
}

// Enter advances the fence and returns ctx with key and token. ErrInvalid is unknown:
// the sender's key and token were found good by Read, so what is not is on this side,
// such as a damaged mark or the fence's options.
func (g *Gate) Enter(ctx context.Context, t Token) (context.Context, Refusal) {
	err := g.Advance(ctx, t.Key, t.Token)
	switch {
	case err == nil:
		return distlock.ContextWithToken(ctx, t.Key, t.Token), ""
	case errors.Is(err, distlock.ErrStale):
		return ctx, Stale
	case errors.Is(err, distlock.ErrSource):
		return ctx, Source
	}
	return ctx, Unknown
}
