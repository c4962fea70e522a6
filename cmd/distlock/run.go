//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/distlock-go/distlock"
)

// passedOn are the signals that the command gets too.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// runCommand runs a command under a lock, and returns the exit status.
func runCommand(args []string) int {
	j, err := parseRun(args)
	if err != nil {
		return misused("run", err)
	}
	danger := make(chan struct{}, 1)
	client, closeAll, status := j.connect(append(j.opts, distlock.WithLossWarning(func(*distlock.Lease) {
		select {
		case danger <- struct{}{}:
		default:
		}
	})))
	if client == nil {
		return status
	}
	defer closeAll()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	lease, status := j.acquire(client, signals)
	if lease == nil {
		return status
	}
	return j.release(lease, j.under(lease, danger, signals))
}

// acquire waits for the lock. Without a lease it returns the exit status.
func (j *job) acquire(client *distlock.Client, signals <-chan os.Signal) (*distlock.Lease, int) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if j.wait > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, j.wait)
		defer stop()
	}
	type result struct {
		lease *distlock.Lease
		err   error
	}
	done := make(chan result, 1)
	go func() { // ends with ctx
		acquire := client.Acquire
		if j.wait == 0 {
			acquire = client.TryAcquire
		}
		l, err := acquire(ctx, j.key)
		done <- result{l, err}
	}()
	status := 0
	for {
		select {
		case s := <-signals:
			status = exitSignal + int(s.(syscall.Signal))
			cancel(errors.New("told to stop by a signal"))
		case r := <-done:
			switch {
			case r.err == nil && status != 0:
				return nil, j.release(r.lease, status)
			case r.err == nil:
				return r.lease, 0
			}
			complain("%v", r.err)
			if status == 0 {
				status = j.notAcquired(r.err)
			}
			return nil, status
		}
	}
}

// notAcquired is the exit status that err stands for.
func (j *job) notAcquired(err error) int {
	switch {
	case errors.Is(err, distlock.ErrHeld):
		return j.heldExit
	case errors.Is(err, distlock.ErrInvalid):
		return exitUsage
	}
	return exitService
}

// under runs the command while lease is valid, and returns the exit status.
func (j *job) under(lease *distlock.Lease, danger <-chan struct{}, signals <-chan os.Signal) int {
	child, err := start(j.command, "DISTLOCK_KEY="+lease.Key(), "DISTLOCK_TOKEN="+lease.Token().String())
	if err != nil {
		complain("%v", err)
		return cannotStart(err)
	}
	var deadline <-chan time.Time // of a command that was told to stop
	stopped := false
	for {
		select {
		case status := <-child.ended:
			if stopped {
				return exitLost
			}
			return status
		case s := <-signals:
			child.signal(s.(syscall.Signal))
		case <-child.stopped:
			child.signal(syscall.SIGCONT)
		case <-danger:
			complain("lock %q is about to be lost: stopping the command", lease.Key())
			stopped = true
			child.signal(syscall.SIGTERM)
			deadline = time.After(untilKill(lease))
		case <-deadline:
			if left := untilKill(lease); left > 0 { // a renewal has succeeded after all
				deadline = time.After(left)
				continue
			}
			child.signal(syscall.SIGKILL)
			deadline = nil
		case <-lease.Done():
			complain("%v", lease.Err())
			child.signal(syscall.SIGKILL)
			<-child.ended
			return exitLost
		}
	}
}

// untilKill is how long a command that was told to stop has left: what is left
// of the lease but for the time that a kill may take.
func untilKill(lease *distlock.Lease) time.Duration {
	return time.Until(lease.Deadline()) - killTime
}

// killTime is what the system may need to end processes that are killed.
const killTime = 250 * time.Millisecond

// release gives the lock up after the command has ended with status, and returns
// the exit status.
func (j *job) release(lease *distlock.Lease, status int) int {
	err := lease.Release(context.Background())
	switch {
	case err == nil:
	case errors.Is(err, distlock.ErrLost):
		if status != exitLost {
			complain("%v", err)
		}
		return exitLost
	default: // the server frees it when its time is over
		complain("%v", err)
	}
	return status
}
