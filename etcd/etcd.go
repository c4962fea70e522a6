package etcd

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The bounds of what a grant can live by.
const (
	// MinTTL is the least that etcd grants with its default election timeout:
	// it counts in seconds, and rounds 1.5 election timeouts up.
	MinTTL = 2 * time.Second
	// MaxTTL is ours. Etcd's own is 9,000,000,000 s.
	MaxTTL       = 24 * time.Hour
	MaxLockDelay = time.Hour
)

// DefaultPrefix is what the names of all keys begin with where Options say
// nothing.
const DefaultPrefix = "distlock/"

// maxPrefix bounds Options.Prefix.
const maxPrefix = 256

// Options change defaults.
type Options struct {
	// Prefix begins the names of all keys. Default DefaultPrefix. Up to 256
	// bytes; a slash is added where it does not end with one. Clients with
	// different prefixes do not see each other's locks, unless one prefix
	// begins with the other: then the keys of the longer one count as those of
	// a lock of the shorter one.
	Prefix string
}

// A Backend takes locks on one etcd cluster. Use New.
type Backend struct {
	client *clientv3.Client
	prefix string
}

var _ distlock.Backend = (*Backend)(nil)

// New returns a backend on client, which stays the caller's to close, after
// the clients made from the backend. Nil options are all defaults. It checks
// nothing: distlock.New does.
func New(client *clientv3.Client, o *Options) *Backend {
	b := &Backend{client: client, prefix: DefaultPrefix}
	if o != nil && o.Prefix != "" {
		b.prefix = o.Prefix
		if !strings.HasSuffix(b.prefix, "/") {
			b.prefix += "/"
		}
	}
	return b
}

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	return distlock.Info{Name: "etcd", Fencing: distlock.FencingDurable, SessionPerTerms: true}
}

// Check checks the client, the options and the bounds of t, and rounds its
// times up to whole seconds.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	c := b.client
	if c == nil || c.KV == nil || c.Watcher == nil || c.Lease == nil {
		return t, distlock.Invalid("client", "nil", "an etcd client")
	}
	if len(b.prefix) > maxPrefix {
		return t, distlock.Invalid("prefix", strconv.Quote(b.prefix), "up to "+strconv.Itoa(maxPrefix)+" bytes")
	}
	t, err := t.CheckTTL(MinTTL, MaxTTL, MaxLockDelay)
	return t.RoundUp(time.Second), err
}

// Ping opens a session and closes it, and reads what is under the prefix: the
// cluster has a leader, and the user the rights.
func (b *Backend) Ping(ctx context.Context) error {
	s, err := b.open(ctx, distlock.Terms{TTL: MinTTL})
	if err != nil {
		return err
	}
	_, err = b.client.Get(ctx, b.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err == nil {
		_, err = s.mark(ctx)
	}
	if err != nil {
		err = judge(ctx, err)
	}
	return errors.Join(err, s.Close(ctx))
}

// Open makes a lease. One whose answer is lost holds nothing and ends by
// itself.
func (b *Backend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	s, err := b.open(ctx, t)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (b *Backend) open(ctx context.Context, t distlock.Terms) (*session, error) {
	resp, err := b.client.Grant(ctx, int64(t.Lifetime()/time.Second))
	if err != nil {
		return nil, judge(ctx, err)
	}
	s := &session{
		backend: b, lease: resp.ID,
		lifetime: min(time.Duration(resp.TTL)*time.Second, t.Lifetime()),
		held:     make(map[string]*grant), check: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}
