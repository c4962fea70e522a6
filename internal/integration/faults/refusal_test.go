package faults_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	goredis "github.com/redis/go-redis/v9"
)

// A refusal is a state of a server in which it grants nothing.
type refusal struct {
	name    string
	prepare []any  // a command that brings the state about
	undo    []any  // one that ends it
	says    string // what the error must tell
}

// Stands for: the server's own words are swallowed, wrapped again and again, or taken
// for "held", so that a misconfiguration looks like a busy lock; or a half-carried-out
// script leaves something; or what is not ours is overwritten.
func TestServersOwnRefusalIsTold(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	rdb := dial(t, s.Addr())
	lock, counter := lockName("refused"), counterName("refused")
	for _, c := range []refusal{
		{"out of memory", []any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}, "OOM"},
		{"a list under the lock's name", []any{"rpush", lock, "x"}, []any{"del", lock}, "WRONGTYPE"},
		{"a list under the counter's name", []any{"rpush", counter, "x"}, []any{"del", counter}, "WRONGTYPE"},
		{"a counter that is no number", []any{"set", counter, "many"}, []any{"del", counter}, "counter is damaged"},
		{"a counter that is negative", []any{"set", counter, "-7"}, []any{"del", counter}, "counter is damaged"},
		{"a counter that is used up", []any{"set", counter, "9007199254740991"}, []any{"del", counter}, "used up"},
		{"no right to run scripts", []any{"acl", "setuser", "default", "-@scripting"}, []any{"acl", "setuser", "default", "+@all"}, "NOPERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Not parallel: it is the one server's state.
			if c.says == "OOM" {
				covers(t, "redis", memoryFull)
			}
			do(t, rdb, c.prepare...)
			before := dump(t, rdb)
			checkRefused(t, locksAt(t, s.Addr()), "refused", c.says)
			if after := dump(t, rdb); after != before {
				t.Errorf("got %q on the server, want what was there before: %q", after, before)
			}
			do(t, rdb, c.undo...)
			release(t, acquire(t, locksAt(t, s.Addr()), "refused"))
			do(t, rdb, "flushall")
		})
	}
}

// do sends one command that must succeed.
func do(t *testing.T, rdb *goredis.Client, words ...any) {
	t.Helper()
	if err := rdb.Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
}

// dump returns all keys of the server, with values.
func dump(t *testing.T, rdb *goredis.Client) string {
	t.Helper()
	var all strings.Builder
	keys, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		v, err := rdb.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(key + "=" + v + "\n")
	}
	return all.String()
}

// checkRefused tries both calls and checks the error: at once, the server's, wrapped
// once.
func checkRefused(t *testing.T, locks *distlock.Client, key, says string) {
	t.Helper()
	for _, call := range []func() (*distlock.Lease, error){
		func() (*distlock.Lease, error) { return locks.TryAcquire(within(t, bound), key) },
		func() (*distlock.Lease, error) { return locks.Acquire(within(t, bound), key) },
	} {
		start := time.Now()
		l, err := call()
		if l != nil || err == nil {
			t.Fatalf("got %v, %v, want an error", l, err)
		}
		var e *distlock.Error
		if !errors.As(err, &e) || e.Key != key || e.Backend != "redis" || errors.As(e.Err, new(*distlock.Error)) {
			t.Errorf("got %#v, want it wrapped once", err)
		}
		if !strings.Contains(err.Error(), says) || errors.Is(err, distlock.ErrHeld) || isContextError(err) {
			t.Errorf("got %v, want %q in it, and neither ErrHeld nor an end of ctx", err, says)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("it took %v to say %v", took, err)
		}
	}
}

// Stands for: a wrong password looks like a lock that nobody gives up.
func TestWrongPasswordIsTold(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	rdb := dial(t, s.Addr())
	do(t, rdb, "acl", "setuser", "locker", "on", ">right", "allkeys", "allchannels", "allcommands")
	client := func(password string) *distlock.Client {
		r := goredis.NewClient(&goredis.Options{Addr: s.Addr(), Username: "locker", Password: password})
		t.Cleanup(func() { r.Close() })
		return lockOn(t, r)
	}
	checkRefused(t, client("wrong"), "refused", "WRONGPASS")
	release(t, acquire(t, client("right"), "refused"))
}

// Stands for: a client that has been connected to a replica grants locks there, or hides
// that it cannot.
func TestReadOnlyReplicaIsTold(t *testing.T) {
	t.Parallel()
	p := servers.Start(t, servers.PairSpec{Of: servers.Redis})
	checkRefused(t, locksAt(t, p.Replica.Addr()), "refused", "READONLY")
	if got := dump(t, dial(t, p.Primary.Addr())); got != "" {
		t.Errorf("got %q on the primary, want nothing", got)
	}
}

// Stands for: a server that still reads its data from disk is taken for one without
// any, and grants what another holds.
func TestLoadingServerIsTold(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Durable(servers.Redis).WithArgs(
		"--key-load-delay", "200")) // µs
	locks := locksAt(t, s.Addr())
	l := acquire(t, locks, "loading")
	rdb := dial(t, s.Addr())
	pipe := rdb.Pipeline()
	for i := range 8 * 1024 { // it answers after each 1,024 that it has read
		pipe.Set(t.Context(), time.Duration(i).String(), "", 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	servers.Do(t, s.Kill)
	started := make(chan error, 1)
	go func() { started <- s.Start(within(t, bound)) }()
	next := locksAt(t, s.Addr())
	loading := false
	eventually(t, bound, "the server has its data again", func() bool {
		_, err := next.TryAcquire(t.Context(), "loading")
		loading = loading || err != nil && strings.Contains(err.Error(), "LOADING")
		return errors.Is(err, distlock.ErrHeld)
	})
	if err := <-started; err != nil {
		t.Error(err)
	}
	if !loading {
		t.Error("the server was never asked while it was loading")
	}
	release(t, l)
}

// Stands for: what another program has under the lock's name is taken for nobody's, and
// deleted or overwritten.
func TestForeignValueIsHeldAndLeftAlone(t *testing.T) {
	t.Parallel()
	s := healthyServer(t)
	rdb := dial(t, s.Addr())
	do(t, rdb, "set", lockName(t.Name()), "somebody else's")
	locks := locksAt(t, s.Addr())
	if _, err := locks.TryAcquire(t.Context(), t.Name()); !errors.Is(err, distlock.ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}
	if _, err := locks.Acquire(within(t, 100*time.Millisecond), t.Name()); !errors.Is(err, distlock.ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}
	w := await(t, locks, t.Name())
	pause(100 * time.Millisecond)
	if got := value(t, rdb, lockName(t.Name())); got != "somebody else's" {
		t.Errorf("got %q, want it left alone", got)
	}
	do(t, rdb, "del", lockName(t.Name()))
	w.gets(t, promptly)
}
