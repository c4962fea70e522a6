package zookeeper

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
)

// How many ticks of its own a server grants a session, unless it is configured
// otherwise.
const leastTicks, mostTicks = 2, 20

// The bounds of what a session can live by.
const (
	// DefaultTick is the servers' tickTime as they come.
	DefaultTick = 2 * time.Second
	// MinTTL is the least TTL with DefaultTick. With another Options.Tick it is two
	// of those.
	MinTTL = leastTicks * DefaultTick
	// MaxTTL is the most that the TTL can be, and that TTL and lock-delay can be
	// together. It is ours and does not move with Options.Tick: servers with a shorter
	// tick grant less, and refuse the rest when the session is opened; those with a
	// longer one would grant more.
	MaxTTL = mostTicks * DefaultTick
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
	t, err := t.CheckTTL(leastTicks*b.opts.Tick, MaxTTL, MaxTTL)
	if err != nil {
		return t, err
	}
	t = t.RoundUp(time.Millisecond)
	if t.Lifetime() > MaxTTL {
		return t, distlock.Invalid("TTL + lock-delay", t.Lifetime(), "at most "+MaxTTL.String())
	}
	return t, nil
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
