package distlock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/distlock-go/distlock/internal/round"
)

// A Backend speaks to one lock service. It does single attempts and nothing
// else: waiting, renewing, deadlines, cleaning up after unknown outcomes,
// tracing and wrapping of errors are the core's. Backends return raw errors.
//
// Several clients may be made from one Backend value; they exclude each other.
// All methods are safe for concurrent use.
type Backend interface {
	// Info describes the backend. It never changes and touches no network.
	Info() Info
	// Check reports, without touching the network, whether the backend is
	// usable under terms, and returns them as the service will keep them:
	// rounded up to its resolution, its own lock-delay where none was asked
	// for. An error matches ErrInvalid and names field, value and bound.
	Check(Terms) (Terms, error)
	// Ping asks the server whether the backend can work with it: reachable,
	// new enough, with the rights it needs.
	Ping(ctx context.Context) error
	// Open starts a session. ctx bounds the call, not the session.
	Open(ctx context.Context, terms Terms) (Session, error)
}

// Info describes a backend.
type Info struct {
	Name    string  // as shown in errors and traces, such as "redis"
	Fencing Fencing // what its tokens are worth
	// SessionPerTerms says that the lifetime of a grant is that of its
	// session, so that other terms need another session. Where it is false,
	// each grant has a lifetime of its own and one session serves all terms.
	// A session is a Keeper if it is true and a Renewer if it is false.
	SessionPerTerms bool
}

// Terms are what a grant lives by.
type Terms struct {
	// TTL is how long a grant is valid for the client without a renewal.
	TTL time.Duration
	// LockDelay is how long nobody gets the key after its holder was lost.
	// UnsetLockDelay asks for the backend's own default.
	LockDelay time.Duration
}

// UnsetLockDelay is the LockDelay of Terms in which none was asked for.
const UnsetLockDelay time.Duration = -1

// Lifetime is how long the server keeps a grant that is not renewed.
func (t Terms) Lifetime() time.Duration { return t.TTL + max(t.LockDelay, 0) }

// CheckTTL is what most backends need of Check: the TTL within bounds, no
// lock-delay unless asked for, at most maxDelay.
func (t Terms) CheckTTL(minTTL, maxTTL, maxDelay time.Duration) (Terms, error) {
	if t.TTL < minTTL || t.TTL > maxTTL {
		return t, Invalid("TTL", t.TTL, fmt.Sprintf("between %v and %v", minTTL, maxTTL))
	}
	if t.LockDelay == UnsetLockDelay {
		t.LockDelay = 0
	}
	if t.LockDelay < 0 || t.LockDelay > maxDelay {
		return t, Invalid("lock-delay", t.LockDelay, fmt.Sprintf("between 0 and %v", maxDelay))
	}
	return t, nil
}

// RoundUp returns t with both times rounded up to whole units, as a service keeps
// them that counts in these. UnsetLockDelay stays what it is. It is for Check, behind
// CheckTTL.
func (t Terms) RoundUp(unit time.Duration) Terms {
	return Terms{TTL: round.Up(t.TTL, unit), LockDelay: round.Up(t.LockDelay, unit)}
}

// A Session is a backend's work for one client. It is a Renewer or a Keeper,
// as Info says, and may be a Queuer, a Waker and a LossNotifier.
//
// Every method returns promptly when ctx ends. The core begins no call once
// Close has begun or the session is past its deadline, Release and the stop of
// a Watch apart; calls that were under way may overlap with Close and come to
// an error, not to a panic.
type Session interface {
	// TryAcquire makes one attempt. It returns
	//   - a Hold: granted. Key, Owner and Terms are the request's;
	//   - an error that matches ErrHeld: refused (see Held);
	//   - an error marked by Refused: not granted, and nothing was left;
	//   - of a Keeper, an error that matches ErrLost: the session is gone, be it
	//     by Close. The core ends it and opens another;
	//   - any other error: unknown. The core will Release the owner.
	// It is idempotent by owner: a request that arrives twice finds its own
	// grant and answers with the token of the first arrival.
	TryAcquire(ctx context.Context, r Request) (Hold, error)
	// Release gives h up if its owner still has it, by comparing the owner on
	// the server. It returns nil if it did, an error that matches ErrLost if
	// there was nothing of this owner's to give up, and any other error if it
	// cannot tell; then the core may ask again. One marked by Refused says that
	// this request freed nothing and never will: a grant that is then found gone
	// was not given up but lost. Release also gives up what a TryAcquire
	// or Acquire of unknown outcome may have left; h then has no Token and no
	// State. It frees no later grant.
	Release(ctx context.Context, h Hold) error
	// Close ends the session. A Keeper's takes whatever it still holds on the
	// server with it; where grants live by themselves, the core has released
	// them before. With a ctx that has ended it still frees everything local.
	// The user's own client stays open.
	Close(ctx context.Context) error
}

// A Renewer is a Session whose grants each have a lifetime of their own.
type Renewer interface {
	// Renew extends each hold to its full lifetime from now if its owner still
	// has it, and returns one result a hold, in order: nil, an error that
	// matches ErrLost (definitely not the owner's any more), or another error
	// (not known to be extended; certainly not, if marked by Refused). It never
	// brings back a hold that is gone. The lifetime is that of the hold's Terms,
	// which need not be those it was granted by: a key that is to stay taken for a
	// while without its holder is renewed for just that long, which may be less
	// than it has left. What the service cannot keep to the instant is rounded up.
	Renew(ctx context.Context, holds []Hold) []error
}

// A Keeper is a Session whose grants live exactly as long as it does.
type Keeper interface {
	// Lifetime is how long the server keeps the session without a renewal, as
	// the server answered when it was opened.
	Lifetime() time.Duration
	// KeepAlive renews the session. The core passes the time at which it calls
	// and gets back the time from which Lifetime is known to run anew: at
	// itself, or an earlier at where a service confirms a renewal only by a
	// later one. An error that matches ErrLost says that the session is gone.
	KeepAlive(ctx context.Context, at Instant) (Instant, error)
}

// A Queuer is a Keeper whose service has a fair queue of its own.
type Queuer interface {
	// Acquire stands in the service's queue until it is granted or ctx ends.
	// Its results are those of TryAcquire, without ErrHeld.
	Acquire(ctx context.Context, r Request) (Hold, error)
}

// A Waker is a Session that can tell when a key may be free.
type Waker interface {
	// Watch calls wake whenever key may have become free, and once when it
	// begins to listen, until stop is called. It returns at once. Wake never
	// blocks and may be called at any time; calls that are missing cost the
	// waiter one poll interval.
	Watch(key string, wake func()) (stop func())
}

// A LossNotifier is a Keeper that can hear of a loss before a renewal does.
type LossNotifier interface {
	// NotifyLoss registers lost, once, before any grant. The backend calls it
	// with the owner whose hold is gone, or with the zero Owner if the whole
	// session is. Lost never blocks; it may be called with locks of the
	// backend's held that no method of its own needs to return.
	NotifyLoss(lost func(owner Owner, cause error))
}

// An Instant is a point in the client's own time. It has
// a meaning only within one process.
type Instant time.Duration

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// An Owner identifies one acquisition: 20 bytes of crypto/rand. Who knows it
// can free the lock, so it prints as owner(hidden); Text is for the wire.
type Owner [20]byte

// NewOwner draws a fresh owner id.
func NewOwner() (o Owner) {
	rand.Read(o[:]) // never fails: crypto/rand ends the process instead
	return o
}

// Text returns the id as 40 hexadecimal digits, to be stored in the service.
// It is a secret: it belongs in no log and no error.
func (o Owner) Text() string {
	var text [2 * len(o)]byte
	hex.Encode(text[:], o[:])
	return string(text[:])
}

// String hides the id, as every other way of printing does.
func (Owner) String() string { return "owner(hidden)" }

// Format hides the id from every verb of package fmt.
func (Owner) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "owner(hidden)") }

// MarshalText hides the id from encoders, such as those of log/slog.
func (Owner) MarshalText() ([]byte, error) { return []byte("owner(hidden)"), nil }

// A Request asks for a key.
type Request struct {
	Key    string // checked: 1 to 512 bytes of UTF-8 without NUL
	Owner  Owner
	Terms  Terms  // as Check returned them
	Holder string // text for whoever inspects the lock; no control characters
}

// A Hold is a grant as the backend sees it.
type Hold struct {
	Key   string
	Owner Owner
	Terms Terms
	Token Token // of the grant; 0 where the grant was never seen, or with FencingNone
	State any   // the backend's own; nil where the grant was never seen
}

// BackendState returns what the backend attached to the grant of l as
// Hold.State. It is for backend packages that offer more on a lease of theirs.
func BackendState(l *Lease) any { return l.hold.State }
