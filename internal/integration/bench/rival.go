package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

// A rival is a lock that takes part in the comparisons: distlock on one service, or
// another library there.
type rival struct {
	service string // as in services
	name    string
	module  string // of a peer, to say its version; "" is distlock
	// terms are the defaults that a peer is used with, and what it does not do by itself.
	terms string
	slow  bool // its waiters ask again after a lease
	// open makes one process' client of it. ttl is for what is held for long, or shall be
	// freed early; 0 leaves the lock its default, which is 30 s where there is none.
	open func(ctx context.Context, addr string, ttl time.Duration) (*contender, error)
}

// A contender is one process' client of a rival.
type contender struct {
	// lock waits for key and returns its token, 0 for none, and how to give it up.
	lock func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error)
	// mend frees key where the rival's own release has failed. May be nil.
	mend func(ctx context.Context, key string) error
	// manual is lock for a rival that renews nothing by itself: it also returns how to.
	manual func(ctx context.Context, key string) (renew, release func(context.Context) error, err error)
	close  func()

	tally   *tally       // of a peer
	renewed atomic.Int64 // renewals of distlock's that were answered
	lost    atomic.Int64 // leases of distlock's
}

func (r rival) ours() bool { return r.module == "" }

// String is unique among rivals.
func (r rival) String() string { return r.service + ": " + r.name }

// about says which version of r is used, and how.
func (r rival) about() string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == r.module {
			return fmt.Sprintf("%s is %s %s: %s", r.name, m.Path, m.Version, r.terms)
		}
	}
	return fmt.Sprintf("%s is %s: %s", r.name, r.module, r.terms)
}

// A service is what rivals are compared on.
type service struct {
	name  string
	env   string // names the server; "" where none is needed
	start func(ctx context.Context) (addr string, stop func(), err error)
}

var services = []service{
	{name: "memory"},
	{name: "redis", env: serverEnv},
	{name: "redlock", env: serverEnv, start: startNodes}, // on servers of its own
	{name: "etcd", env: etcdEnv},
	{name: "zookeeper", env: zooKeeperEnv},
	{name: "consul", env: consulEnv},
	{name: "postgres", env: postgresEnv},
}

// envOf names the server of a service.
func envOf(name string) string {
	for _, s := range services {
		if s.name == name {
			return s.env
		}
	}
	return ""
}

// there reports whether s can be measured.
func (s service) there() bool { return s.env == "" || os.Getenv(s.env) != "" }

// address is where s is. Call stop in the end.
func (s service) address(ctx context.Context) (addr string, stop func(), err error) {
	if s.start != nil {
		return s.start(ctx)
	}
	return os.Getenv(s.env), func() {}, nil
}

// rivals lists those on s, distlock first.
func (s service) rivals() (all []rival) {
	for _, r := range rivals {
		if r.service == s.name {
			all = append(all, r)
		}
	}
	return all
}

// onEach runs f on each service that is there.
func onEach(ctx context.Context, f func(s service, addr string) ([]line, error)) ([]line, error) {
	var lines []line
	for _, s := range services {
		if !s.there() {
			continue
		}
		addr, stop, err := s.address(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		got, err := f(s, addr)
		stop()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		lines = append(lines, got...)
	}
	return lines, nil
}

// dial opens a contender of r, and has its failures go to t.
func (r rival) dial(ctx context.Context, addr string, ttl time.Duration, t *tally) (*contender, error) {
	c, err := r.open(ctx, addr, ttl)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", r, err)
	}
	if !r.ours() {
		c.tally = t
	}
	return c, nil
}

// warm has connections and sessions made.
func (c *contender) warm(ctx context.Context, p plan, i int) error {
	key := fmt.Sprintf("bench-rivals-warm-%d", i)
	b, cancel := context.WithTimeout(ctx, p.bound)
	defer cancel()
	err := c.once(b, key, new(guard))
	// On a busy machine a session may not be open in the time that distlock allows it.
	for c.tally == nil && err != nil && !errors.Is(err, errUnsafe) && sleep(b, settled) == nil {
		err = c.once(b, key, new(guard))
	}
	_, err = c.tolerate(ctx, key, err)
	return err
}

// bounded calls a side with a ctx that ends some time after the slice, as there are peers
// that wait for ever when an answer comes late. One ctx serves the whole slice, so that it
// costs the calls nothing.
func bounded(p plan, s func(ctx, bounded context.Context, d time.Duration) error) side {
	return func(ctx context.Context, d time.Duration) error {
		b, cancel := context.WithTimeout(ctx, d+p.bound)
		defer cancel()
		return s(ctx, b, d)
	}
}

// once acquires key, enters and leaves g, and releases.
func (c *contender) once(ctx context.Context, key string, g *guard) error {
	token, release, err := c.lock(ctx, key)
	if err != nil {
		return err
	}
	if err = g.enter(token); err == nil {
		err = g.leave()
	}
	return errors.Join(err, release(ctx))
}

// A tally counts what went wrong with a peer. A failure of distlock's ends the program.
type tally struct {
	mu   sync.Mutex
	n    int
	last error
}

// tolerate returns err if c is ours or ctx has ended, else it counts it and makes key
// free. It reports whether there was none.
func (c *contender) tolerate(ctx context.Context, key string, err error) (ok bool, _ error) {
	if err == nil || c.tally == nil || ended(ctx, err) {
		return err == nil, err
	}
	c.tally.add(err)
	if c.mend != nil {
		return false, c.mend(ctx, key)
	}
	return false, sleep(ctx, hold) // no hot loop
}

// add counts err.
func (t *tally) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n, t.last = t.n+1, err
}

// noted puts the failures on l.
func (t *tally) noted(l line) line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.Failures = t.n
	if t.last != nil {
		l.LastFailure = t.last.Error()
	}
	return l
}
