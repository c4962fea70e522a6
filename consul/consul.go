package consul

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/hashicorp/consul/api"
)

// The bounds of what a session can live by. They are Consul's own.
const (
	MinTTL           = 10 * time.Second // unless Options.MinTTL says otherwise
	MaxTTL           = 24 * time.Hour
	MaxLockDelay     = time.Minute
	DefaultLockDelay = 15 * time.Second // where distlock.WithLockDelay says nothing
)

// DefaultPrefix is what the names of all entries begin with where Options say
// nothing.
const DefaultPrefix = "distlock/"

// Options change defaults.
type Options struct {
	// Prefix begins the names of all entries in the key/value store. Default
	// DefaultPrefix. Up to 128 bytes of letters, digits and -_./, without an
	// empty part or one that begins with a dot. Clients with different prefixes
	// do not see each other's locks, unless one prefix begins with the other: then
	// a key of the shorter one and a key of the longer one can have one entry.
	Prefix string
	// MinTTL is the shortest TTL to allow: what session_ttl_min is in the
	// servers' configuration. Default MinTTL, at least 10 ms. A TTL that the
	// servers think too short fails the first acquire and Ping.
	MinTTL time.Duration
	// Node is the node of Consul's catalog that sessions belong to. Default:
	// that of the agent that answers. Name one to lock in another datacenter
	// than the agent's (api.Config.Datacenter), where the agent's own node is
	// not known. When the node leaves the catalog, its sessions end.
	Node string
}

const (
	// maxCalls and maxWaits bound the requests that one Backend has under way,
	// and so the connections: up to two for each for a moment, as net/http
	// dials another while one is about to become free. An agent takes 200 from
	// one address (http_max_conns_per_client).
	maxCalls = 32
	maxWaits = 64
)

// A Backend takes locks in the key/value store of one Consul datacenter. Use
// New.
type Backend struct {
	client *api.Client
	opts   Options
	calls  chan struct{} // one for each request under way that does not wait
	waits  chan struct{} // one for each that does
}

// New returns a backend on client. Nil options are all defaults. It checks
// nothing: distlock.New does. The client's ACL token, namespace, partition and
// datacenter are those of all requests.
func New(client *api.Client, o *Options) *Backend {
	b := &Backend{
		client: client,
		calls:  make(chan struct{}, maxCalls),
		waits:  make(chan struct{}, maxWaits),
	}
	if o != nil {
		b.opts = *o
	}
	if b.opts.Prefix == "" {
		b.opts.Prefix = DefaultPrefix
	}
	if b.opts.MinTTL == 0 {
		b.opts.MinTTL = MinTTL
	}
	return b
}

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	return distlock.Info{Name: "consul", Fencing: distlock.FencingDurable, SessionPerTerms: true}
}

// Check checks the client, the options and the bounds of t, and rounds its times up
// to whole milliseconds. No lock-delay asked for is DefaultLockDelay.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	switch {
	case b.client == nil:
		return t, distlock.Invalid("client", "nil", "a client of package api")
	case checkPrefix(b.opts.Prefix) != nil:
		return t, checkPrefix(b.opts.Prefix)
	case b.opts.MinTTL < 10*time.Millisecond || b.opts.MinTTL > MaxTTL:
		return t, distlock.Invalid("MinTTL", b.opts.MinTTL, "between 10ms and "+MaxTTL.String())
	}
	if t.LockDelay == distlock.UnsetLockDelay {
		t.LockDelay = DefaultLockDelay
	}
	t, err := t.CheckTTL(b.opts.MinTTL, MaxTTL, MaxLockDelay)
	if err == nil {
		t = t.RoundUp(time.Millisecond)
	}
	return t, err
}

// Ping opens a session, takes and gives back a lock of its own, and ends the
// session: a server without a leader, a token without the rights and a
// session_ttl_min over the shortest TTL say so. An error is the server's own.
func (b *Backend) Ping(ctx context.Context) error {
	opened, err := b.Open(ctx, distlock.Terms{TTL: b.opts.MinTTL})
	if err != nil {
		return err
	}
	s := opened.(*session)
	owner := distlock.NewOwner()
	h, err := s.TryAcquire(ctx, distlock.Request{Key: "ping-" + distlock.NewOwner().Text(), Owner: owner, Terms: s.terms})
	if err == nil {
		_, err = b.look(ctx, s.name(h.Key))
	}
	if err == nil {
		err = s.Release(ctx, h)
	}
	if cerr := s.Close(ctx); err == nil {
		err = cerr
	}
	return err
}

// Open creates a session. One whose answer is lost ends by its TTL.
func (b *Backend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	id, err := b.createSession(ctx, t)
	if err != nil {
		return nil, err
	}
	return newSession(b, id, t), nil
}
