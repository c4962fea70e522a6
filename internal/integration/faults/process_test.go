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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// backendEnv, set to the name of a service, makes the test binary a process that its
// parent can stop or kill: one that acquires keyEnv at addrsEnv with shortTTL, and holds
// it, or waits for it if waitEnv is set.
const (
	backendEnv = "DISTLOCK_FAULTS_BACKEND"
	addrsEnv   = "DISTLOCK_FAULTS_ADDRS"
	keyEnv     = "DISTLOCK_FAULTS_KEY"
	waitEnv    = "DISTLOCK_FAULTS_WAIT"
)

// A report is a line that such a process prints: when it waits, when it has the key, and
// what it saw first when it went on after a stop.
type report struct {
	Token   distlock.Token
	Valid   bool          // the lease's Valid, the very first instruction
	Context string        // its context's Err
	Cause   string        // and Cause
	Lost    bool          // whether Err matches ErrLost
	Release string        // of Release, which must not touch the next holder's
	Gap     time.Duration // how long it was stopped
}

// runForParent is the process.
func runForParent() int {
	out := json.NewEncoder(os.Stdout)
	wait := os.Getenv(waitEnv) != ""
	l, err := acquireInProcess(func() {
		if wait {
			_ = out.Encode(report{})
		}
	})
	if err != nil {
		return complain(err)
	}
	seen := report{Token: l.Token(), Valid: l.Valid()}
	if !wait {
		ctx := l.Context(context.Background())
		_ = out.Encode(seen)
		seen = awaken(l, ctx)
	}
	if err := l.Release(context.Background()); err != nil {
		seen.Release = err.Error()
	}
	if err := out.Encode(seen); err != nil {
		return complain(err)
	}
	return 0
}

// acquireInProcess acquires the key of the environment, and calls waits when it is told
// that the key is held.
func acquireInProcess(waits func()) (*distlock.Lease, error) {
	s := serviceNamed(os.Getenv(backendEnv))
	if s == nil {
		return nil, fmt.Errorf("no backend %q", os.Getenv(backendEnv))
	}
	b, _, err := s.connect(strings.Split(os.Getenv(addrsEnv), ","))
	if err != nil {
		return nil, err
	}
	once := sync.OnceFunc(waits)
	locks, err := distlock.New(b, distlock.WithTTL(shortTTL), distlock.WithLockDelay(0), distlock.WithTrace(&distlock.Trace{
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			if isHeld(i.Err) {
				once()
			}
		},
	}))
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(bound); ; pause(10 * time.Millisecond) { // a machine that stalls leaves calls without an answer
		l, err := locks.Acquire(context.Background(), os.Getenv(keyEnv))
		if err == nil || time.Now().After(end) {
			return l, err
		}
	}
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// awaken spins, so that it is this goroutine that runs at the moment of the stop, and
// sees by the clock that there was one. Until then it checks its lease all the time; what
// comes right after the stop is the write that follows the last check. The library gets no
// chance to run a timer before: the process has one thread for Go code.
func awaken(l *distlock.Lease, ctx context.Context) report {
	for last, checked := time.Now(), true; ; checked = l.Valid() {
		now := time.Now()
		if gap := now.Sub(last); gap > shortTTL || !checked {
			seen := report{Valid: l.Valid(), Token: l.Token(), Gap: gap}
			if err := ctx.Err(); err != nil {
				seen.Context, seen.Cause = err.Error(), context.Cause(ctx).Error()
			}
			seen.Lost = errors.Is(l.Err(), distlock.ErrLost)
			return seen
		}
		last = now
	}
}

// A process is one that runs for a test.
type process struct {
	cmd   *exec.Cmd
	lines chan report
}

// startProcess starts the test binary with more of an environment.
func startProcess(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0]), lines: make(chan report, 3)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var r report
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Error(err)
			}
			p.lines <- r
		}
	}()
	return p
}

// processOf starts a process that acquires key.
func processOf(t *testing.T, s *service, addrs []string, key string, env ...string) *process {
	t.Helper()
	return startProcess(t, append(env, backendEnv+"="+s.name, addrsEnv+"="+strings.Join(addrs, ","), keyEnv+"="+key, "GOMAXPROCS=1")...)
}

// read returns the next report.
func (p *process) read(t *testing.T) report {
	t.Helper()
	select {
	case r, ok := <-p.lines:
		if !ok {
			t.Fatal("the process ended")
		}
		return r
	case <-time.After(2 * bound):
		t.Fatalf("the process says nothing for %v", 2*bound)
	}
	return report{}
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// end waits for the end of a process that ends by itself.
func (p *process) end(t *testing.T) {
	t.Helper()
	for range p.lines { // until its output ends, or Wait would take it away
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
