package redis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// maxLanes is how many pipelines of one session are under way at a time.
	maxLanes = 1
	// maxPipeline bounds the calls in one pipeline.
	maxPipeline = 128
	// pipelineBound is how long a pipeline may take, retries by the user's
	// time-outs included. A call in it returns when its own ctx ends.
	pipelineBound = 10 * time.Second
)

// A lane sends calls to one server. A call that finds it idle goes at once and
// alone; calls that come while one is under way go together in the next
// pipeline. So a busy client shares round trips and system calls, and one that
// is alone waits for nobody.
//
// go-redis does not interrupt a read when ctx ends, so calls are sent from a
// goroutine of the lane; there is none while nothing is to be sent.
type lane struct {
	client Client
	single bool // not shared: each call goes by itself (Cluster: the nodes differ)

	mu     sync.Mutex // guards queue and busy
	queue  []*call
	busy   int
	active sync.WaitGroup
}

// A call is one or two commands that are sent together.
type call struct {
	ctx   context.Context
	cmds  []goredis.Cmder
	done  chan struct{}
	state atomic.Int32
	// orphan, if not nil, is called when the answer comes after the caller has
	// left because its ctx ended.
	orphan func()
}

const (
	waiting  = iota // the caller waits for the answer
	answered        // the answer is there
	left            // the caller has left
)

// do sends cmds and returns when they are answered or ctx ends. The error is
// the first command's, or ctx's; after ctx's the commands must not be read.
func (l *lane) do(ctx context.Context, orphan func(), cmds ...goredis.Cmder) error {
	c := &call{ctx: ctx, cmds: cmds, done: make(chan struct{}), orphan: orphan}
	l.start(c)
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		<-c.done // being closed this moment
	}
	return cmds[0].Err()
}

// start has c sent.
func (l *lane) start(c *call) {
	if l.single {
		l.active.Go(func() { l.send([]*call{c}) })
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, c)
	if l.busy < maxLanes {
		l.busy++
		l.active.Go(l.run)
	}
}

// run is a goroutine that sends what has queued up and ends when that is
// nothing.
func (l *lane) run() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.busy--
			l.mu.Unlock()
			return
		}
		n := min(len(l.queue), maxPipeline)
		calls := l.queue[:n:n]
		l.queue = l.queue[n:]
		l.mu.Unlock()
		l.send(calls)
	}
}

// send sends calls in one round trip and tells their callers.
func (l *lane) send(calls []*call) {
	var cmds []goredis.Cmder
	for _, c := range calls {
		if c.state.Load() != left { // nobody waits for what was not sent yet
			cmds = append(cmds, c.cmds...)
		} else {
			c.orphan = nil
		}
	}
	switch {
	case len(calls) == 1 && len(cmds) == 1:
		_ = l.client.Process(calls[0].ctx, cmds[0]) // the error is in the command
	case len(cmds) > 0:
		ctx, cancel := context.WithTimeout(context.Background(), pipelineBound)
		exec(ctx, l.client, cmds)
		cancel()
	}
	for _, c := range calls {
		if !c.state.CompareAndSwap(waiting, answered) && c.orphan != nil {
			c.orphan()
		}
		close(c.done)
	}
}

// exec sends cmds as one pipeline. Errors are in the commands.
func exec(ctx context.Context, client Client, cmds []goredis.Cmder) {
	p := client.Pipeline()
	for _, cmd := range cmds {
		_ = p.Process(ctx, cmd) // queues it
	}
	_, err := p.Exec(ctx)
	if err == nil {
		return
	}
	for _, cmd := range cmds { // one that was never reached has no error of its own
		if c, ok := cmd.(*command); ok && c.Err() == nil && !c.hasReply() {
			c.SetErr(err)
		}
	}
}

// promptly runs f and returns its error, or ctx's if that ends before.
func promptly(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }() // ends with f, which ends by the client's time-outs
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A command is sent at most once: go-redis repeats others by itself after a
// lost answer, and would then report the second outcome as the first.
type command struct{ *goredis.Cmd }

// NoRetry tells go-redis so.
func (command) NoRetry() bool { return true }

func (c *command) hasReply() bool { return c.Val() != nil }

func newCommand(ctx context.Context, words ...any) *command {
	return &command{goredis.NewCmd(ctx, words...)}
}
