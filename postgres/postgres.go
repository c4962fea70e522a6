package postgres

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/absent"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The bounds of what a grant can live by.
const (
	MinTTL       = time.Second
	MaxTTL       = 24 * time.Hour
	MaxLockDelay = time.Hour
)

// A Pool is what the backend needs of the user's pool: how to connect. It takes
// no connection out of it. *pgxpool.Pool is one.
//
// The backend's own connections are made from that configuration: the same
// server, user, TLS, dialer, BeforeConnect and AfterConnect. What AfterConnect
// sets of time-outs, isolation, search_path and synchronous_commit is set again. The
// pool's hooks for handing out connections are not called, and it may be closed
// before the client is.
type Pool interface {
	Config() *pgxpool.Config
}

// A Backend takes locks in one database. Use New.
type Backend struct {
	pool Pool
	opts Options
}

// New returns a backend for the database that pool connects to. Nil options are
// all defaults. It checks nothing: distlock.New does.
func New(pool Pool, o *Options) *Backend {
	return &Backend{pool: pool, opts: o.withDefaults()}
}

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	level := distlock.FencingBestEffort
	if b.opts.NoAsyncFailover {
		level = distlock.FencingDurable
	}
	return distlock.Info{Name: "postgres", Fencing: level, SessionPerTerms: true}
}

// Check checks the pool, the options and the bounds of t, which it rounds up to
// milliseconds.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	if absent.Is(b.pool) {
		return t, distlock.Invalid("pool", "nil", "a pgxpool.Pool")
	}
	if err := b.opts.check(); err != nil {
		return t, err
	}
	t, err := t.CheckTTL(MinTTL, MaxTTL, MaxLockDelay)
	if err == nil {
		t = t.RoundUp(time.Millisecond)
	}
	return t, err
}

// Ping opens a lock connection as Open does, takes a lock on it with its
// counter, takes both back, and closes it: so a server that is too old, a
// standby, a pooler in transaction mode, a missing table and a missing right say
// so. It leaves no row.
func (b *Backend) Ping(ctx context.Context) error {
	conn, _, err := b.connect(ctx, distlock.Terms{TTL: MinTTL})
	if err != nil {
		return err
	}
	err = b.probe(ctx, conn)
	if closed := conn.Close(ctx); err == nil {
		err = closed
	}
	return err
}

// Open makes a lock connection.
func (b *Backend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	conn, pid, err := b.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	return newSession(b, conn, pid, t)
}
