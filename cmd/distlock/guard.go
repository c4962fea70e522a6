//go:build unix

package main

import (
	"os"
	"syscall"
	"time"

	"github.com/distlock-go/distlock"
)

const (
	// killTime is what the system may need to end processes that are killed. A short
	// TTL has less of it: a sixth, which is half of what a lease has left when it is in danger.
	killTime = 250 * time.Millisecond
	// lookEvery is how often a group is looked at that its first process has left:
	// nothing tells of the end of the others.
	lookEvery = 10 * time.Millisecond
)

// A guard has a command run no longer than its lock lasts.
type guard struct {
	lease   *distlock.Lease
	ttl     time.Duration
	child   *child
	danger  <-chan struct{} // gets something when the lease is about to be lost
	signals <-chan os.Signal

	told    bool // a signal was passed on, or a warning
	stopped bool // the lock was lost or about to be, and the command was told
	killed  bool // all of the group were, and are about to end
}

// watch returns the command's exit status when it has ended. Unless it has ended of
// its own accord, the others of its group have ended too by then.
func (g *guard) watch() (status int) {
	end := g.first()
	if g.told || end.bySignal || len(g.signals)+len(g.danger) > 0 {
		g.rest()
	}
	return end.status
}

// first waits until the command itself has ended, and says how.
func (g *guard) first() ending {
	deadline := time.After(g.untilKill())
	for {
		select {
		case end := <-g.child.ended:
			return end
		case s := <-g.signals:
			g.tell(s.(syscall.Signal))
		case <-g.child.stopped:
			g.child.signal(syscall.SIGCONT)
		case <-g.danger:
			g.warn()
		case <-deadline:
			if left := g.untilKill(); left > 0 { // a renewal has succeeded
				deadline = time.After(left)
				continue
			}
			complain("lock %q is about to end: killing the command", g.lease.Key())
			g.stopped = true
			g.kill()
		case <-g.lease.Done():
			g.lose()
			return <-g.child.ended
		}
	}
}

// rest waits until the others of the group have ended too. They have until the
// deadline that the lock has now, though it is renewed, and are killed then.
func (g *guard) rest() {
	deadline := time.After(g.untilKill())
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !g.killed && g.child.isThere() {
		select {
		case <-look.C:
		case s := <-g.signals:
			g.tell(s.(syscall.Signal))
		case <-g.danger:
			g.warn()
		case <-g.lease.Done():
			g.lose()
		case <-deadline:
			complain("killing what the command has left running")
			g.kill()
		}
	}
	// What is killed can take its time to go, as in a file system that hangs. As long as
	// the lock is renewed, it is kept.
	for end := time.Now().Add(killTime); g.child.isThere(); <-look.C {
		if g.lease.Err() != nil && time.Now().After(end) {
			return
		}
	}
}

// tell passes s on.
func (g *guard) tell(s syscall.Signal) {
	g.told = true
	g.child.signal(s)
}

// warn tells the command to stop, as the lock is about to be lost.
func (g *guard) warn() {
	complain("lock %q is about to be lost: stopping the command", g.lease.Key())
	g.stopped = true
	g.tell(syscall.SIGTERM)
}

// lose kills the command, as the lock is lost.
func (g *guard) lose() {
	complain("%v", g.lease.Err())
	g.stopped = true
	g.kill()
}

// kill ends the whole group.
func (g *guard) kill() {
	g.killed = true
	g.tell(syscall.SIGKILL)
}

// untilKill is how long the command may go on if no renewal succeeds: what is left of
// the lease but for the time that a kill may take.
func (g *guard) untilKill() time.Duration {
	return time.Until(g.lease.Deadline()) - min(killTime, g.ttl/6)
}
