package redlock

import (
	"context"
	"runtime"
	"time"

	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

const (
	// maxPipeline bounds the calls in one pipeline.
	maxPipeline = 128
	// maxLanes bounds the pipelines to one node that are under way at a time.
	// More than one are so only while the others are stuck.
	maxLanes = 4
	// parking is how long a lane waits for more to send before it ends. A new
	// goroutine would have to grow its stack for go-redis again, which costs
	// more than all else here.
	parking = time.Second
)

// enqueue has c sent: by a lane under way, or by another if there is none or
// those that there are are stuck.
func (n *node) enqueue(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, c)
	n.attend()
}

// attend has a lane begin for the queue, unless there is one that should come back for
// it soon: then it looks again later. n.mu is held.
func (n *node) attend() {
	free, now, patience := -1, time.Now(), n.backend.timeout/2
	for i, t := range n.begun {
		switch {
		case t.IsZero():
			if free < 0 {
				free = i
			}
		case now.Sub(t) < patience:
			n.lookAfter(patience - now.Sub(t))
			return
		}
	}
	switch {
	case free < 0:
		return // the next lane that comes back takes them
	case free == 0 && n.parked:
		n.parked = false
		n.kick <- struct{}{}
	default:
		n.active.Start(func() { n.run(free) })
	}
	n.begun[free] = now
	if len(n.queue) > maxPipeline { // more than it takes
		n.lookAfter(patience)
	}
}

// lookAfter has the queue attended to after d, unless it will be before. n.mu is held.
func (n *node) lookAfter(d time.Duration) {
	switch {
	case n.looking:
		return
	case n.look == nil:
		n.look = time.AfterFunc(d, n.lookNow)
	default:
		n.look.Reset(d)
	}
	n.looking = true
}

func (n *node) lookNow() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.looking = false
	if len(n.queue) > 0 {
		n.attend()
	}
}

// run is a lane: a goroutine that sends what has queued up. The first one waits
// for more for a while, the others end.
func (n *node) run(lane int) {
	var timer *time.Timer
	for {
		calls := n.take(lane)
		switch {
		case calls != nil:
			n.send(calls)
			if len(calls) > 1 {
				runtime.Gosched() // their callers come back at once: take them along
			}
			continue
		case lane > 0:
			return
		case timer == nil:
			timer = time.NewTimer(parking)
			defer timer.Stop()
		default:
			timer.Reset(parking)
		}
		if !n.park(timer.C) {
			return
		}
	}
}

// park waits until there is something to send, and returns false if the lane has
// ended instead.
func (n *node) park(timeout <-chan time.Time) bool {
	select {
	case <-n.kick:
		return true
	case <-timeout:
	case <-n.closing:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.parked { // kicked this moment
		<-n.kick
		return true
	}
	n.parked = false
	return false
}

// take returns what is to be sent next. If that is nothing, lane 0 is parked,
// and another is done.
func (n *node) take(lane int) []*call {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 {
		n.begun[lane] = time.Time{}
		n.parked = n.parked || lane == 0
		return nil
	}
	n.begun[lane] = time.Now()
	k := min(len(n.queue), maxPipeline)
	calls := n.queue[:k:k]
	n.queue = n.queue[k:]
	if len(n.queue) == 0 {
		n.queue = nil
	}
	return calls
}

// send sends calls in one round trip and answers them, or queues them again.
func (n *node) send(calls []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), rediscall.Bound)
	defer cancel()
	id, err := n.identify(ctx)
	if err != nil {
		n.noteFailure(err)
		for _, c := range calls {
			c.answer(c.unsent(err))
		}
		return
	}
	cmds := make([]rediscall.Command, 0, 2*len(calls))
	var sent []*call
	for _, c := range calls {
		if c.req.Lock == nil { // it was to identify the node
			c.answer(quorum.Answer{Verdict: quorum.Done})
			continue
		}
		if c.req.Wanted != nil && !c.req.Wanted() {
			c.answer(c.unsent(errUnwanted))
			continue
		}
		c.prepare(n.backend, id)
		cmds = append(cmds, c.cmd)
		if c.wake != nil {
			cmds = append(cmds, *c.wake)
		}
		sent = append(sent, c)
	}
	if len(cmds) == 0 {
		return
	}
	rediscall.Exec(ctx, n.client, cmds)
	n.noteOutcome(cmds[0].Err())
	for _, c := range sent {
		if a, again := c.settle(n); again {
			n.enqueue(c)
		} else {
			c.answer(a)
		}
	}
}
