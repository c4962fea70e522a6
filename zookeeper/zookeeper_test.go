package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

func TestCheck(t *testing.T) {
	servers := []string{"zk-1"}
	terms := func(ttl, delay time.Duration) distlock.Terms { return distlock.Terms{TTL: ttl, LockDelay: delay} }
	good := terms(10*time.Second, distlock.UnsetLockDelay)
	for name, test := range map[string]struct {
		servers []string
		opts    zklock.Options
		terms   distlock.Terms
		field   string // of the error; none: it is right
	}{
		"defaults":              {servers, zklock.Options{}, good, ""},
		"the least TTL":         {servers, zklock.Options{}, terms(zklock.MinTTL, 0), ""},
		"the most":              {servers, zklock.Options{}, terms(zklock.MaxTTL, 0), ""},
		"a short tick":          {servers, zklock.Options{Tick: time.Second}, terms(2*time.Second, 0), ""},
		"a deep root":           {servers, zklock.Options{Root: "/a/b.c/ü"}, good, ""},
		"no server":             {nil, zklock.Options{}, good, "servers"},
		"an empty address":      {[]string{"zk-1", ""}, zklock.Options{}, good, "servers"},
		"TTL below":             {servers, zklock.Options{}, terms(zklock.MinTTL-1, 0), "TTL"},
		"TTL above":             {servers, zklock.Options{}, terms(zklock.MaxTTL+1, 0), "TTL"},
		"TTL below a long tick": {servers, zklock.Options{Tick: 3 * time.Second}, terms(5*time.Second, 0), "TTL"},
		"both together":         {servers, zklock.Options{}, terms(30*time.Second, 11*time.Second), "TTL + lock-delay"},
		"a negative tick":       {servers, zklock.Options{Tick: -1}, good, "tick"},
		"root of all":           {servers, zklock.Options{Root: "/"}, good, "root"},
		"root without a slash":  {servers, zklock.Options{Root: "a"}, good, "root"},
		"root with one more":    {servers, zklock.Options{Root: "/a/"}, good, "root"},
		"root with dots":        {servers, zklock.Options{Root: "/a/../b"}, good, "root"},
		"root with NUL":         {servers, zklock.Options{Root: "/a\x00"}, good, "root"},
		"the servers' own":      {servers, zklock.Options{Root: "/zookeeper/locks"}, good, "root"},
		"a long root":           {servers, zklock.Options{Root: "/" + strings.Repeat("a", 256)}, good, "root"},
	} {
		got, err := zklock.New(test.servers, &test.opts).Check(test.terms)
		switch {
		case test.field == "" && (err != nil || got.LockDelay < 0):
			t.Errorf("%s: got %+v, %v", name, got, err)
		case test.field != "" && (!errors.Is(err, distlock.ErrInvalid) || !strings.Contains(err.Error(), ": "+test.field+" is ")):
			t.Errorf("%s: got %v, want an error about %s", name, err, test.field)
		}
	}
	got, err := zklock.New(servers, nil).Check(terms(5*time.Second+1, 1))
	if want := terms(5*time.Second+time.Millisecond, time.Millisecond); err != nil || got != want {
		t.Errorf("got %+v, %v; want whole milliseconds: %+v", got, err, want)
	}
}

// Inspect, Break and Ping open a session for a moment: with a time-out that servers with
// this tick grant, which is 2 to 20 of it.
func TestVisitsFitTheTick(t *testing.T) {
	for tick, want := range map[time.Duration]time.Duration{
		0:                      zklock.MinTTL, // the default
		50 * time.Millisecond:  time.Second,
		200 * time.Millisecond: zklock.MinTTL,
		time.Second:            zklock.MinTTL,
		3 * time.Second:        6 * time.Second,
	} {
		if got := zklock.Visit(zklock.New(nil, &zklock.Options{Tick: tick})); got != want {
			t.Errorf("with a tick of %v: got %v, want %v", tick, got, want)
		}
	}
}

func TestHeldGuardsATransaction(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client(s.backend())
	path := s.root + "-data"
	if _, err := s.admin.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	write := func(l *distlock.Lease, text string) error {
		_, err := s.admin.Multi(zklock.Held(l), &zk.SetDataRequest{Path: path, Data: []byte(text), Version: -1})
		return err
	}
	l, err := c.Acquire(within(t, bound), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := write(l, "held"); err != nil {
		t.Errorf("a write while the lock is held: %v", err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	next, err := c.Acquire(within(t, bound), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := s.client(memory.New()).Acquire(within(t, bound), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	for name, late := range map[string]*distlock.Lease{"of the last holder": l, "of another backend": foreign, "of nobody": nil} {
		if err := write(late, "late"); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("a write under the lease %s: got %v, want zk.ErrNoNode", name, err)
		}
	}
	if data, _, err := s.admin.Get(path); err != nil || string(data) != "held" {
		t.Errorf("the data is %q, %v", data, err)
	}
	if err := write(next, "next"); err != nil {
		t.Errorf("a write by the next holder: %v", err)
	}
}

func TestNodesHaveACLAndHolder(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	b := s.backend(func(o *zklock.Options) {
		o.Root += "/deep/er"
		o.Auth = []zklock.Auth{{Scheme: "digest", Credentials: []byte("user:password")}}
		o.ACL = zk.AuthACL(zk.PermAll)
	})
	c := s.client(b, distlock.WithHolder("worker 7"))
	l, err := c.Acquire(within(t, bound), "k")
	if err != nil {
		t.Fatal(err)
	}
	parent := s.root + "/deep/er/k"
	if _, _, err := s.admin.Children(parent); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger lists the lock's nodes: got %v, want zk.ErrNoAuth", err)
	}
	stranger := s.client(s.backend(func(o *zklock.Options) { o.Root += "/deep/er" }))
	if _, err := stranger.TryAcquire(within(t, bound), "k"); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger takes a lock: got %v, want zk.ErrNoAuth", err)
	}
	if err := stranger.Ping(within(t, bound)); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger's Ping: got %v, want zk.ErrNoAuth", err)
	}
	friend := connect(t, s.servers)
	if err := friend.AddAuth("digest", []byte("user:password")); err != nil {
		t.Fatal(err)
	}
	names, _, err := friend.Children(parent)
	if err != nil || len(names) != 1 {
		t.Fatalf("the lock has nodes %d, %v", len(names), err)
	}
	data, stat, err := friend.Get(parent + "/" + names[0])
	if err != nil || string(data) != "worker 7" || distlock.Token(stat.Czxid) != l.Token() || stat.EphemeralOwner == 0 {
		t.Errorf("the node has %q, %+v, %v; the token is %v", data, stat, err, l.Token())
	}
	if err := c.Ping(within(t, bound)); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

// The test servers look for empty containers once a second.
func TestParentsGoWhenTheyAreEmpty(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client(s.backend())
	for range 2 { // the second time it is thought to be there
		l, err := c.Acquire(within(t, bound), "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		there := true
		for end := time.Now().Add(bound); there && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if there, _, err = s.admin.Exists(s.root + "/k"); err != nil {
				t.Fatal(err)
			}
		}
		if there {
			t.Errorf("the empty parent is still there after %v", bound)
		}
	}
}

func TestForeignNodesBlockNobody(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c := s.client(s.backend())
	l, err := c.Acquire(within(t, bound), "k")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lock-0000000000", "_c_0123-lock-0000000000", "x"} {
		if _, err := s.admin.Create(s.root+"/k/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err = c.TryAcquire(within(t, bound), "k"); err != nil {
		t.Fatalf("nodes that are not ours block the key: %v", err)
	}
	if names, _, err := s.admin.Children(s.root + "/k"); err != nil || len(names) != 4 {
		t.Errorf("there are %d nodes, %v; want ours and the foreign ones", len(names), err)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	b := zklock.New([]string{"127.0.0.1:1", "127.0.0.1:2"}, nil)
	c, err := distlock.New(b)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	start := time.Now()
	for name, err := range map[string]error{"Ping": c.Ping(within(t, bound)), "TryAcquire": try(t, c), "Open": open(t, b)} {
		if !errors.Is(err, zk.ErrNoServer) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: got %v, want that no server could be reached, and which", name, err)
		}
	}
	if took := time.Since(start); took > bound {
		t.Errorf("it took %v to find out", took)
	}
}

func try(t *testing.T, c *distlock.Client) error {
	_, err := c.TryAcquire(within(t, bound), "k")
	return err
}

func open(t *testing.T, b *zklock.Backend) error {
	_, err := b.Open(within(t, bound), distlock.Terms{TTL: 10 * time.Second})
	return err
}

// An owner's id frees its lock, and is in the name of its node: it is in no error.
func TestErrorsHideTheOwner(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	session, err := s.backend().Open(within(t, bound), distlock.Terms{TTL: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r := distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: distlock.Terms{TTL: 10 * time.Second}}
	h, err := session.TryAcquire(within(t, bound), r)
	if err != nil {
		t.Fatal(err)
	}
	other := r
	other.Owner = distlock.NewOwner()
	_, held := session.TryAcquire(within(t, bound), other)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, ended := session.TryAcquire(ctx, other)
	errs := []error{held, ended, session.Release(within(t, bound), h), session.Release(within(t, bound), h)}
	errs = append(errs, session.Close(within(t, bound)), session.Release(within(t, bound), h))
	for _, err := range errs {
		for _, o := range []distlock.Owner{r.Owner, other.Owner} {
			if bytes.Contains([]byte(fmt.Sprintf("%v %+v", err, err)), []byte(o.Text())) {
				t.Errorf("an error tells an owner's id")
			}
		}
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, distlock.ErrLost) }) {
		t.Error("no error is a loss; the test has lost its meaning")
	}
}
