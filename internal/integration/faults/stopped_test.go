package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	redislock "github.com/distlock-go/distlock/redis"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
)

// holderEnv, set to a server's address or a database's URL, makes the test binary a holder of heldKey
// instead: a process that its parent can stop.
const (
	holderEnv = "DISTLOCK_FAULTS_HOLDER"
	keyEnv    = "DISTLOCK_FAULTS_KEY"
	heldTTL   = time.Second
)

// An awakening is what a holder that was stopped saw first when it went on.
type awakening struct {
	Token   distlock.Token
	Valid   bool          // the lease's Valid, the very first instruction
	Context string        // its context's Err
	Cause   string        // and Cause
	Lost    bool          // whether Err matches ErrLost
	Release string        // of Release, which must not touch the next holder's
	Gap     time.Duration // how long it was stopped
}

// holdForParent is the holder's process. It prints the token once it holds the key, and
// an awakening after it was stopped for longer than the TTL.
func holdForParent() int {
	b, err := holderBackend(os.Getenv(holderEnv))
	if err != nil {
		return complain(err)
	}
	locks, err := distlock.New(b, distlock.WithTTL(heldTTL))
	if err != nil {
		return complain(err)
	}
	l, err := locks.Acquire(context.Background(), os.Getenv(keyEnv))
	if err != nil {
		return complain(err)
	}
	ctx := l.Context(context.Background())
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(awakening{Token: l.Token()})
	seen := awaken(l, ctx)
	if err := l.Release(context.Background()); err != nil {
		seen.Release = err.Error()
	}
	if err := out.Encode(seen); err != nil {
		return complain(err)
	}
	return 0
}

// holderBackend returns the backend for a value of holderEnv.
func holderBackend(at string) (distlock.Backend, error) {
	if strings.HasPrefix(at, "postgres:") {
		pool, err := pgxpool.New(context.Background(), at)
		return pglock.New(pool, pgOptions), err
	}
	return redislock.New(goredis.NewClient(&goredis.Options{Addr: at}), nil), nil
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// awaken spins, so that it is this goroutine that runs at the moment of the stop, and
// sees by the clock that there was one. What comes right after that is the first
// instruction of the holder's own. The library gets no chance to run a timer before:
// the process has one thread for Go code.
func awaken(l *distlock.Lease, ctx context.Context) awakening {
	for last := time.Now(); ; {
		now := time.Now()
		if gap := now.Sub(last); gap > heldTTL {
			seen := awakening{Valid: l.Valid(), Token: l.Token(), Gap: gap}
			if err := ctx.Err(); err != nil {
				seen.Context, seen.Cause = err.Error(), context.Cause(ctx).Error()
			}
			seen.Lost = errors.Is(l.Err(), distlock.ErrLost)
			return seen
		}
		last = now
	}
}

// Stands for: a holder that was stopped, or whose machine was, finds that it is still
// the leader until its renewer has run, and writes beside the next one.
func TestStoppedHolderKnowsAtItsFirstInstruction(t *testing.T) {
	t.Parallel()
	s := healthyServer(t)
	for i := range 3 { // stopped at other points of the renewal
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			key := t.Name()
			cmd, lines := startHolder(t, s.Addr(), key)
			held := readAwakening(t, lines)
			pause(heldTTL/2 + time.Duration(i)*heldTTL/9) // it has been renewed meanwhile
			signal(t, cmd, syscall.SIGSTOP)
			begin := time.Now()
			next := acquire(t, locksAt(t, s.Addr()), key)
			free := time.Since(begin)
			pause(2*heldTTL - free)
			signal(t, cmd, syscall.SIGCONT)
			seen := readAwakening(t, lines)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			t.Logf("free after %v; %+v", free, seen)
			if seen.Valid || seen.Context == "" || !seen.Lost || seen.Release == "" {
				t.Errorf("got %+v, want a lease that is lost and a context that has ended", seen)
			}
			checkFence(t, key, held.Token, next.Token())
			if v := value(t, dial(t, s.Addr()), lockName(key)); v == "" || !next.Valid() {
				t.Error("the old holder took the next one's lock along")
			}
			release(t, next)
		})
	}
}

// startHolder starts the holder's process.
func startHolder(t *testing.T, addr, key string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holderEnv+"="+addr, keyEnv+"="+key, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func readAwakening(t *testing.T, lines *bufio.Scanner) (seen awakening) {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the holder ended: %v", lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

func signal(t *testing.T, cmd *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// checkFence checks that a resource that the next holder has used refuses the old one.
func checkFence(t *testing.T, key string, old, next distlock.Token) {
	t.Helper()
	var f distlock.Fence
	if err := f.Advance(key, next); err != nil {
		t.Error(err)
	}
	err := f.Do(key, old, func() error { t.Error("the old holder wrote"); return nil })
	if !errors.Is(err, distlock.ErrStale) {
		t.Errorf("got %v for token %v after %v, want ErrStale", err, old, next)
	}
}
