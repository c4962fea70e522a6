package redis

import (
	"cmp"
	"context"
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
const DefaultPrefix = "distlock:"

// A Client is what the backend needs of a go-redis client: *redis.Client for a
// single server or behind Sentinel, *redis.ClusterClient, or anything that
// does the same. The user keeps it, closes it, and brings TLS, passwords and
// time-outs with it. *redis.Ring is refused: it moves keys to another server
// when one does not answer, and both would grant.
type Client interface {
	Process(ctx context.Context, cmd goredis.Cmder) error
	Pipeline() goredis.Pipeliner
	Subscribe(ctx context.Context, channels ...string) *goredis.PubSub
}

// Options change defaults.
type Options struct {
	// Prefix begins the names of all keys and channels. Default DefaultPrefix.
	// Up to 128 bytes without braces and NUL. Clients with different prefixes do not
	// see each other's locks.
	Prefix string
	// Hooks has every command pass the hooks that were added to the client
	// with AddHook, as for tracing. Without it they see only part: a call that
	// finds its session idle is sent by its caller, through a copy of the
	// client with a time-out of its own, and go-redis copies no hooks; where the
	// client has no ReadTimeout or one over 10 s, all calls are. Hooks cost a
	// goroutine switch per call, about a fifth of a round trip over loopback, and
	// with them the client's own ReadTimeout is all that ends a read.
	Hooks bool
}

// A Backend takes locks on one Redis or Valkey service. Use New.
type Backend struct {
	client  Client
	bounded Client // see bounded
	prefix  string
	hooks   bool
	server  server
}

// New returns a backend on client. Nil options are all defaults. It checks
// nothing: distlock.New does.
func New(client Client, o *Options) *Backend {
	b := &Backend{client: client, prefix: DefaultPrefix}
	if o != nil {
		b.hooks = o.Hooks
		b.prefix = cmp.Or(o.Prefix, b.prefix)
	}
	b.bounded = bounded(client, b.hooks)
	return b
}

// lockName returns the name of the lock on key. Those of its counter and its channel
// begin with it.
func (b *Backend) lockName(key string) string { return redisscript.LockName(b.prefix, key) }

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	return distlock.Info{Name: "redis", Fencing: distlock.FencingBestEffort}
}

// Check checks the client, the options and the bounds of t.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	if absent.Is(b.client) {
		return t, distlock.Invalid("client", "nil", "a go-redis client")
	}
	if isRing(b.client) {
		return t, distlock.Invalid("client", "a *redis.Ring", "a client of one server, of Sentinel or of a Cluster")
	}
	if err := redisscript.CheckPrefix(b.prefix); err != nil {
		return t, err
	}
	return t.CheckTTL(MinTTL, MaxTTL, MaxLockDelay)
}

// Open asks the server, once, what it knows.
func (b *Backend) Open(ctx context.Context, _ distlock.Terms) (distlock.Session, error) {
	if !b.server.known.Load() {
		if err := b.ask(ctx); err != nil {
			return nil, err
		}
	}
	return newSession(b), nil
}

func isRing(client any) bool {
	_, is := client.(*goredis.Ring)
	return is
}
