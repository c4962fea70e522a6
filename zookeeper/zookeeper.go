package zookeeper

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
)

// The bounds of what a session can live by, with the server's default tick of
// two seconds: a server grants 2 to 20 ticks.
const (
	DefaultTick = 2 * time.Second
	MinTTL      = 2 * DefaultTick
	// MaxTTL is also the most that TTL and lock-delay can be together.
	MaxTTL = 20 * DefaultTick
)

// DefaultRoot is the node under which all locks are kept where Options say
// nothing.
const DefaultRoot = "/distlock"

// Options change defaults.
type Options struct {
	// Root is the node under which all locks are kept, such as
	// "/billing/locks". Default DefaultRoot. It is created if it is missing.
	// Up to 256 bytes; not "/" itself. Clients with different roots do not see
	// each other's locks.
	Root string
	// ACL is given to every node that is created. Default: everybody may do
	// everything, which is zk.WorldACL(zk.PermAll). All clients of a root need
	// read, create and delete.
	ACL []zk.ACL
	// Auth is presented on every connection before anything else.
	Auth []Auth
	// Dial opens connections, as for TLS:
	//
	//	Dial: (&tls.Dialer{Config: config}).DialContext
	//
	// Default: (&net.Dialer{}).DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Tick is the tickTime of the servers, or more. Default DefaultTick. The
	// least TTL is two ticks. A tick that is smaller than the servers' breaks
	// the promise that a holder knows of its loss before the next grant.
	Tick time.Duration
}

// Auth is what a client shows to be let in: scheme "digest" with credentials
// "user:password", for one.
type Auth struct {
	Scheme      string
	Credentials []byte
}

// A Backend takes locks on one ZooKeeper ensemble. Use New.
type Backend struct {
	servers []string
	opts    Options
	parents *parents
}

var _ distlock.Backend = (*Backend)(nil)

// New returns a backend on the ensemble that servers are members of, each
// HOST or HOST:PORT, where the port is 2181 if it is missing. Names are looked
// up anew for each connection. Nil options are all defaults. It checks nothing
// and connects to nothing: distlock.New checks, and each client's sessions
// have connections of their own.
func New(servers []string, o *Options) *Backend {
	b := &Backend{servers: slices.Clone(servers), parents: newParents()}
	if o != nil {
		b.opts = *o
	}
	if b.opts.Root == "" {
		b.opts.Root = DefaultRoot
	}
	if len(b.opts.ACL) == 0 {
		b.opts.ACL = zk.WorldACL(zk.PermAll)
	}
	if b.opts.Dial == nil {
		b.opts.Dial = (&net.Dialer{}).DialContext
	}
	if b.opts.Tick == 0 {
		b.opts.Tick = DefaultTick
	}
	return b
}

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	return distlock.Info{Name: "zookeeper", Fencing: distlock.FencingDurable, SessionPerTerms: true}
}

// Check checks the servers, the options and the bounds of t, and rounds its
// times up to whole milliseconds.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	if len(b.servers) == 0 || slices.Contains(b.servers, "") {
		return t, distlock.Invalid("servers", b.servers, "one address or more, none of them empty")
	}
	if err := checkRoot(b.opts.Root); err != nil {
		return t, err
	}
	if b.opts.Tick < 0 {
		return t, distlock.Invalid("tick", b.opts.Tick, "positive")
	}
	t, err := t.CheckTTL(2*b.opts.Tick, MaxTTL, MaxTTL)
	if err != nil {
		return t, err
	}
	t.TTL, t.LockDelay = roundUp(t.TTL), roundUp(t.LockDelay)
	if t.Lifetime() > MaxTTL {
		return t, distlock.Invalid("TTL + lock-delay", t.Lifetime(), "at most "+MaxTTL.String())
	}
	return t, nil
}

// roundUp rounds d up to whole milliseconds.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Ping opens a session, takes and gives back a lock on a name that is no
// key's, and closes the session: the ensemble has a quorum and container
// nodes, and the user the rights.
func (b *Backend) Ping(ctx context.Context) error {
	s, err := b.open(ctx, b.visit())
	if err != nil {
		return err
	}
	n, err := s.place(ctx, request{owner: distlock.NewOwner(), parent: b.opts.Root + pingName})
	if err == nil {
		err = s.remove(ctx, n)
	}
	closed := s.Close(ctx)
	if err != nil {
		return err
	}
	return closed
}

// Open opens a session, which is a connection. A session that the servers
// opened without being heard ends by itself.
func (b *Backend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	s, err := b.open(ctx, t)
	if err != nil {
		return nil, err
	}
	return s, nil
}
