package redlock

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/absent"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

// The bounds of what a grant can live by.
const (
	MinTTL       = 10 * time.Millisecond
	MaxTTL       = 24 * time.Hour
	MaxLockDelay = time.Hour
)

// DefaultPrefix is what the names of all keys and channels begin with where
// Options say nothing.
const DefaultPrefix = "redlock:"

// The bounds of Options.NodeTimeout, and its default. The authors of the
// algorithm give 5 to 50 ms for a lock of 10 s. The default is their upper end:
// a node is waited for only where the others are no majority, so a long
// time-out costs little, and a short one takes a collection of garbage or a
// slow disk for a death.
const (
	MinNodeTimeout     = time.Millisecond
	MaxNodeTimeout     = 10 * time.Second
	DefaultNodeTimeout = 50 * time.Millisecond
)

// MinNodes is the least number of nodes.
const MinNodes = 3

// Options change defaults. All clients of the same locks must have the same
// Prefix, Fenced and RestartDelay.
type Options struct {
	// Prefix begins the names of all keys and channels. Default DefaultPrefix.
	// Up to 128 bytes without braces and NUL. Clients with different prefixes
	// do not see each other's locks.
	Prefix string
	// NodeTimeout is how long a decision on an acquisition waits for a node's
	// answer, anew for the second of two round trips. From MinNodeTimeout to
	// MaxNodeTimeout; default DefaultNodeTimeout. It must be longer than a
	// round trip and should be much shorter than the TTL.
	NodeTimeout time.Duration
	// Fenced gives each lease a token, for the price of a second round trip to
	// acquire. Without it Lease.Token is 0 and distlock.RequireFencing fails.
	//
	// What it is worth is distlock.FencingBestEffort. The second round trip
	// writes the token back to the nodes, and a majority must acknowledge it
	// with the lock still this owner's. Two majorities share a node, so the
	// next grant's nodes include one that has been told the last token, and
	// that node acknowledges only a larger one. So tokens grow strictly from
	// grant to grant as long as one of the nodes that every two such majorities
	// share has kept its counter in between, which is certain only while no
	// node loses its data. Delays, expiry, stopped clients and steps of clocks
	// do not enter: they can let two clients hold the key, but not exchange
	// the order of their tokens.
	//
	// A node that has lost its counter begins again from its own clock, in
	// microseconds. Then the order lasts if no node's clock was ahead of the
	// emptied one's by more than the time between the two grants. Nothing is
	// promised where several nodes lose their data, where one is restored from
	// a backup or evicts keys (use the policy noeviction), or where a counter
	// has expired while the clock of its node was set back by more than a day.
	Fenced bool
	// RestartDelay keeps a node out that may have lost its data, until what it
	// may have granted before has expired. Set it to the largest TTL +
	// lock-delay of any client, up to MaxTTL + MaxLockDelay. Default 0: it is
	// left to the operator that a node without all its data stays away for so
	// long.
	//
	// Each node has a key without expiry that says since when it has had its
	// data, and the script that takes a lock looks at it: no round trip is
	// added. FLUSHALL counts as a loss of all data; so does the first use, so
	// that nothing is granted for this long on new nodes. A node that restarts
	// from an old file on its disk is not noticed, nor is one whose clock is
	// set forward meanwhile.
	RestartDelay time.Duration
}

// A Backend takes locks on several independent Redis or Valkey servers. Use New.
type Backend struct {
	clients []goredis.UniversalClient
	prefix  string
	timeout time.Duration
	fenced  bool
	delay   time.Duration

	mu     sync.Mutex // guards all below
	runIDs []string   // by node, "" if not known
	same   error      // not nil while two nodes are one server
}

// New returns a backend on clients, each of one independent master: a plain
// client, or one behind Sentinel. Take five, or three; they should share
// neither machine nor power supply. An even number is allowed and buys
// nothing: of four nodes two may fail no more than of three. Nil options are
// all defaults. The clients stay the user's, who closes them. New checks
// nothing: distlock.New does, and who is the same server twice is found by the
// client's Ping and by the first acquisition.
func New(clients []goredis.UniversalClient, o *Options) *Backend {
	b := &Backend{clients: clients, prefix: DefaultPrefix, timeout: DefaultNodeTimeout}
	b.runIDs = make([]string, len(clients))
	if o == nil {
		return b
	}
	b.fenced, b.delay = o.Fenced, o.RestartDelay
	if o.Prefix != "" {
		b.prefix = o.Prefix
	}
	if o.NodeTimeout != 0 {
		b.timeout = o.NodeTimeout
	}
	return b
}

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	i := distlock.Info{Name: "redlock", Fencing: distlock.FencingNone}
	if b.fenced {
		i.Fencing = distlock.FencingBestEffort
	}
	return i
}

// Check checks the clients, the options and the bounds of t.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	if err := b.checkClients(); err != nil {
		return t, err
	}
	if err := redisscript.CheckPrefix(b.prefix); err != nil {
		return t, err
	}
	if b.timeout < MinNodeTimeout || b.timeout > MaxNodeTimeout {
		return t, distlock.Invalid("node timeout", b.timeout, fmt.Sprintf("between %v and %v", MinNodeTimeout, MaxNodeTimeout))
	}
	t, err := t.CheckTTL(MinTTL, MaxTTL, MaxLockDelay)
	if err != nil {
		return t, err
	}
	switch {
	case b.delay < 0 || b.delay > MaxTTL+MaxLockDelay:
		err = distlock.Invalid("restart delay", b.delay, fmt.Sprintf("between 0 and %v", MaxTTL+MaxLockDelay))
	case b.delay > 0 && b.delay < t.Lifetime():
		err = distlock.Invalid("TTL + lock-delay", t.Lifetime(), fmt.Sprintf("at most the restart delay of %v", b.delay))
	}
	return t, err
}

// checkClients checks what can be seen of the nodes without asking them.
func (b *Backend) checkClients() error {
	if len(b.clients) < MinNodes {
		return distlock.Invalid("number of nodes", len(b.clients), fmt.Sprintf("at least %d", MinNodes))
	}
	seen := make(map[any]int)
	for i, c := range b.clients {
		name := fmt.Sprintf("node %d", i+1)
		if absent.Is(c) {
			return distlock.Invalid(name, "nil", "a go-redis client")
		}
		switch c.(type) {
		case *goredis.Ring, *goredis.ClusterClient:
			return distlock.Invalid(name, fmt.Sprintf("a %T", c), "a client of one server")
		}
		if !reflect.TypeOf(c).Comparable() {
			continue
		}
		if j, ok := seen[c]; ok {
			return distlock.Invalid(name, fmt.Sprintf("the same client as node %d", j+1), "one of another server")
		}
		seen[c] = i
	}
	return nil
}

// Ping asks the nodes what they are, and takes and gives back a lock on a key
// of its own. It returns an error that tells of each node what it said, if no
// majority would do or two nodes are the same server. A minority that does not
// answer is no error, since it is none for a lock either.
func (b *Backend) Ping(ctx context.Context) error {
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	err = s.probe(ctx)
	if closed := s.Close(ctx); err == nil {
		err = closed
	}
	return err
}

// Open asks the nodes what they are. It waits for a majority, and for the others
// no longer than Options.NodeTimeout after that; they are asked when they are
// reached.
func (b *Backend) Open(ctx context.Context, _ distlock.Terms) (distlock.Session, error) {
	s, err := b.open(ctx)
	if err != nil {
		return nil, err // not s: a nil pointer in an interface is not nil
	}
	return s, nil
}

func (b *Backend) open(ctx context.Context) (*session, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s := newSession(b)
	if err := s.meet(ctx); err != nil {
		_ = s.Close(ctx) // nothing was taken
		return nil, err
	}
	return s, nil
}
