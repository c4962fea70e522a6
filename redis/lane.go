package redis

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/tasks"
)

const (
	// maxPipeline bounds the calls in one pipeline.
	maxPipeline = 128
	// maxLanes bounds the pipelines of one session that are under way at a
	// time. More than two are so only while the others are stuck.
	maxLanes = 4
	// besideFrom is how many calls queued behind one pipeline make up a second, so that
	// the client prepares one while the server works on the other.
	besideFrom = 4
	// stuckAfter is how long calls stay queued behind a pipeline under way
	// before they get another one.
	stuckAfter = 10 * time.Millisecond
)

// A lane sends calls to one server. Calls that come while one is under way go
// together in the next pipeline, or, where they are many, in a second one beside it:
// so a busy client shares round trips and system calls, and one that is alone waits
// for nobody.
//
// go-redis does not interrupt a read when ctx ends, so calls are sent from a
// goroutine of the lane, of which there is none while nothing is to be sent.
// A call that finds the lane idle may go without: see alone.
type lane struct {
	client Client
	single bool // not shared: each call goes by itself (Cluster: the nodes differ)
	alone  alone
	took   atomic.Int64 // the last round trip, a time.Duration; 0: none yet

	mu     sync.Mutex // guards all below
	queue  []*call
	busy   int         // pipelines and lone calls under way
	taken  int         // how often calls were taken from the queue
	stuck  *time.Timer // looks after the queue
	isSet  bool        // stuck is
	seen   int         // taken, when stuck was set
	active tasks.Group
}

// A call is a command that a goroutine of the lane is to send.
type call struct {
	cmd    rediscall.Command
	done   chan struct{}
	state  atomic.Int32
	orphan func() // see do
}

const (
	waiting  = iota // the caller waits for the answer
	answered        // the answer is there
	left            // the caller has left
)

// do sends cmd and returns when it is answered or ctx ends. The error is the
// command's, or ctx's; after ctx's the command must not be read, but by orphan: if
// not nil, it is called when the answer comes after all.
func (l *lane) do(ctx context.Context, cmd rediscall.Command, orphan func()) error {
	if p := l.goAlone(ctx); p != nil {
		return l.sendAlone(ctx, p, cmd)
	}
	c := &call{cmd: cmd, orphan: orphan, done: make(chan struct{})}
	l.start(c)
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		<-c.done // being closed this moment
	}
	return cmd.Err()
}

// start has c sent.
func (l *lane) start(c *call) {
	if l.single {
		l.active.Start(func() { l.send([]*call{c}) })
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, c)
	switch {
	case l.busy == 0, l.busy == 1 && len(l.queue) >= besideFrom:
		l.busy++
		l.active.Start(l.run)
	default:
		l.lookAfter()
	}
}

// lookAfter has the queue looked at after a while, unless it will be. l.mu is held.
func (l *lane) lookAfter() {
	if l.isSet {
		return
	}
	l.isSet, l.seen = true, l.taken
	if l.stuck == nil {
		l.stuck = time.AfterFunc(stuckAfter, l.unstick)
	} else {
		l.stuck.Reset(stuckAfter)
	}
}

// unstick gives queued calls a pipeline of their own if nothing has moved, and looks
// again as long as there are any and they could be given one.
func (l *lane) unstick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isSet = false
	if len(l.queue) == 0 || l.busy >= maxLanes {
		return // one of those that are under way will come back for them
	}
	if l.taken == l.seen {
		l.busy++
		l.active.Start(l.run)
	}
	l.lookAfter()
}

// run is a goroutine that sends what has queued up and ends when that is
// nothing.
func (l *lane) run() {
	for {
		calls := l.take()
		if calls == nil {
			return
		}
		l.send(calls)
		if len(calls) > 1 {
			runtime.Gosched() // their callers come back at once: take them along
		}
	}
}

// take returns what is to be sent next. If that is nothing, the caller is done.
func (l *lane) take() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.busy--
		return nil
	}
	l.taken++
	n := min(len(l.queue), maxPipeline)
	calls := l.queue[:n:n]
	l.queue = l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil
	}
	return calls
}

// send sends calls in one round trip and tells their callers.
func (l *lane) send(calls []*call) {
	cmds := make([]rediscall.Command, 0, len(calls))
	for _, c := range calls {
		if c.state.Load() != left { // nobody waits for what was not sent yet
			cmds = append(cmds, c.cmd)
		} else {
			c.orphan = nil
		}
	}
	if len(cmds) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), rediscall.Bound)
		start := time.Now()
		rediscall.Exec(ctx, l.client, cmds)
		l.took.Store(int64(time.Since(start)))
		cancel()
	}
	for _, c := range calls {
		if !c.state.CompareAndSwap(waiting, answered) && c.orphan != nil {
			c.orphan()
		}
		close(c.done)
	}
}
