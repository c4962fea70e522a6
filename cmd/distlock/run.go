//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

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
	return j.under(&guard{lease: lease, ttl: j.ttl, danger: danger, signals: signals})
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
				giveUp(r.lease, false)
				return nil, status
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

// under runs the command while g's lease is valid, gives that up, and returns the
// exit status.
func (j *job) under(g *guard) (status int) {
	child, err := start(j.command, "DISTLOCK_KEY="+g.lease.Key(), "DISTLOCK_TOKEN="+g.lease.Token().String())
	if err != nil {
		complain("%v", err)
		giveUp(g.lease, false)
		return cannotStart(err)
	}
	g.child = child
	status = g.watch()
	if err := giveUp(g.lease, g.stopped); !g.stopped && !errors.Is(err, distlock.ErrLost) {
		return status
	}
	complain("the command has ended with status %d", status)
	return exitLost
}

// giveUp releases lease, and complains if that fails, but for a loss that was told.
func giveUp(lease *distlock.Lease, told bool) error {
	err := lease.Release(context.Background())
	if err != nil && !(told && errors.Is(err, distlock.ErrLost)) {
		complain("%v", err) // the server frees what is not lost when its time is over
	}
	return err
}
