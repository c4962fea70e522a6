//go:build unix

package main

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	redislock "github.com/distlock-go/distlock/redis"
)

// redisAddr returns the server to test with.
func redisAddr(t *testing.T) string {
	t.Helper()
	const env = "DISTLOCK_TEST_REDIS"
	addr := os.Getenv(env)
	if addr == "" && os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
		t.Fatalf("%s is not set", env)
	}
	if addr == "" {
		t.Skipf("%s is not set: no server to test with (make test starts them)", env)
	}
	return addr
}

// A rival is another client of the same server, and a key of the test's own.
type rival struct {
	*distlock.Client
	addr, key string
}

func newRival(t *testing.T) *rival {
	t.Helper()
	addr := redisAddr(t)
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	c, err := distlock.New(redislock.New(rdb, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close(context.Background())
		_ = rdb.Close()
	})
	return &rival{c, addr, "cmd-" + distlock.NewOwner().Text()}
}

// take gets the key, sooner or later.
func (r *rival) take(t *testing.T) *distlock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l, err := r.Acquire(ctx, r.key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestHeld(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	l := r.take(t)
	invoke(t, "run", "-backend", "redis", "-addr", r.addr, "-wait", "0", r.key, "--", "false").ends(t, exitHeld)
	invoke(t, "run", "-backend", "redis", "-addr", r.addr, "-wait", "50ms", "-held-exit", "0", r.key, "--", "false").ends(t, 0)
	waits := invoke(t, "run", "-backend", "redis", "-addr", "redis://"+r.addr, r.key, "--", "sh", "-c", "echo $DISTLOCK_TOKEN")
	told := invoke(t, "run", "-backend", "redis", "-addr", r.addr, r.key+"/other", "--", "true")
	told.ends(t, 0)
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	waits.ends(t, 0)
	if token, err := distlock.ParseToken(strings.TrimSpace(waits.out.String())); err != nil || token <= l.Token() {
		t.Errorf("got token %q after %v", waits.out.String(), l.Token())
	}
	if l := r.take(t); l != nil { // it was released
		_ = l.Release(t.Context())
	}
}

func TestMinHold(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	args := []string{"run", "-backend", "redis", "-addr", r.addr, "-wait", "0", "-min-hold", "10m", r.key, "--", "true"}
	invoke(t, args...).ends(t, 0)
	invoke(t, args...).ends(t, exitHeld)
}

// cutOff runs a command behind a network that is then cut, and returns when
// somebody else has the key: by then it must be gone.
func cutOff(t *testing.T, onTerm string, within func([]string) []string) *process {
	t.Helper()
	r := newRival(t)
	proxy := locktest.NewProxy(t, r.addr)
	file, command := beat(t, onTerm)
	command = within(command)
	p := invoke(t, append([]string{"run", "-backend", "redis", "-addr", proxy.Addr(), "-ttl", "3s", r.key, "--"}, command...)...)
	n := pid(t, file)
	proxy.Swallow()
	l := r.take(t)
	if isAlive(n) {
		t.Error("the command runs while somebody else has the lock")
	}
	_ = l.Release(t.Context())
	return p
}

func alone(command []string) []string { return command }

// The command's own status is told, as distlock's does not say it.
func TestCutOff(t *testing.T) {
	t.Parallel()
	p := cutOff(t, "echo stops cleanly; exit 3", alone)
	p.ends(t, exitLost)
	if out := p.out.String(); !strings.Contains(out, "stops cleanly") || !strings.HasSuffix(out, "ended with status 3\n") {
		t.Errorf("got %q", out)
	}
}

func TestCutOffAndDeafToTerm(t *testing.T) {
	t.Parallel()
	cutOff(t, "", alone).ends(t, exitLost)
}

func TestCutOffWithADeafChild(t *testing.T) {
	t.Parallel()
	cutOff(t, "", under).ends(t, exitLost)
}

// Nobody gets the key before a command that has had it for too long is gone.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	file, command := beat(t, "")
	p := invoke(t, append([]string{"run", "-backend", "redis", "-addr", r.addr, "-max-hold", "2s", r.key, "--"}, under(command)...)...)
	n := pid(t, file)
	l := r.take(t)
	if isAlive(n) {
		t.Error("the command runs while somebody else has the lock")
	}
	_ = l.Release(t.Context())
	p.ends(t, exitLost)
	if out := p.out.String(); !strings.Contains(out, "about to end") {
		t.Errorf("the command was not killed before the end: %q", out)
	}
}

// After a distlock that was killed nobody gets the key for the lock-delay.
func TestLockDelay(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	file, command := beat(t, "")
	p := invoke(t, append([]string{
		"run", "-backend", "redis", "-addr", r.addr, "-ttl", "1s", "-lock-delay", "1h", r.key, "--",
	}, command...)...)
	n := pid(t, file)
	p.signals(t, syscall.SIGKILL)
	_ = p.Wait()
	_ = syscall.Kill(n, syscall.SIGKILL)
	if info, err := r.Inspect(t.Context(), r.key); err != nil || !info.Held || info.Left < 59*time.Minute {
		t.Errorf("got %+v, %v; want it kept for an hour", info, err)
	}
}

func TestLockDeleted(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	file, command := beat(t, "")
	p := invoke(t, append([]string{"run", "-backend", "redis", "-addr", r.addr, "-ttl", "3s", r.key, "--"}, command...)...)
	n := pid(t, file)
	r.deleteLock(t)
	p.ends(t, exitLost)
	if isAlive(n) {
		t.Error("the command runs on")
	}
}

// deleteLock takes the lock away from its holder.
func (r *rival) deleteLock(t *testing.T) {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: r.addr})
	defer rdb.Close()
	keys, err := rdb.Keys(t.Context(), "*{"+r.key+"}").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("got keys %v, %v; want the lock's", keys, err)
	}
	if err := rdb.Del(t.Context(), keys[0]).Err(); err != nil {
		t.Fatal(err)
	}
}

// A command that has ended by itself, under a lock that nobody knew to be lost: its
// status is told.
func TestEndedUnderALostLock(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	dir := t.TempDir()
	p := invoke(t, "run", "-backend", "redis", "-addr", r.addr, "-ttl", "1h", r.key, "--",
		"sh", "-c", `touch "$0/runs"; while ! [ -e "$0/end" ]; do sleep 0.05; done; exit 3`, dir)
	eventually(t, "the command runs", func() bool { _, err := os.Stat(dir + "/runs"); return err == nil })
	r.deleteLock(t)
	if err := os.WriteFile(dir+"/end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.ends(t, exitLost)
	if out := p.out.String(); !strings.Contains(out, "lease lost") || !strings.HasSuffix(out, "ended with status 3\n") {
		t.Errorf("got %q", out)
	}
}

// A distlock that is killed takes the command with it, and the key is free one
// TTL later.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	file, command := beat(t, "")
	p := invoke(t, append([]string{"run", "-backend", "redis", "-addr", r.addr, "-ttl", "3s", r.key, "--"}, command...)...)
	n := pid(t, file)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil { // Linux
		eventually(t, "the command has died with it", func() bool { return !isAlive(n) })
	} else {
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
	_ = r.take(t).Release(t.Context())
}

// A distlock that is stopped for longer than the TTL kills the command when it
// goes on: somebody else has had the lock, with a larger token.
func TestStopped(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	file, command := beat(t, "")
	p := invoke(t, append([]string{"run", "-backend", "redis", "-addr", r.addr, "-ttl", "2s", r.key, "--"}, command...)...)
	n := pid(t, file)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	l := r.take(t)
	if err := p.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.ends(t, exitLost)
	if isAlive(n) {
		t.Error("the command runs on")
	}
	if err := l.Release(t.Context()); err != nil {
		t.Errorf("the next holder's release: %v", err)
	}
}
