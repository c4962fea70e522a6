package redlock

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/redisscript"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// maxPipeline bounds the calls in one pipeline.
	maxPipeline = 128
	// maxLanes bounds the pipelines to one node that are under way at a time.
	// More than one are so only while the others are stuck.
	maxLanes = 4
	// firstRest and longestRest are for how long a node that has failed is not
	// asked first: it is doubled from failure to failure.
	firstRest   = 50 * time.Millisecond
	longestRest = time.Second
	// parking is how long a lane waits for more to send before it ends. A new
	// goroutine would have to grow its stack for go-redis again, which costs
	// more than all else here.
	parking = time.Second
)

// A node is one server, as one session sees it. Calls that come while a
// pipeline is under way go together in the next: so a busy client shares round
// trips. They are sent by lanes: goroutines of which there is none once nothing
// was to be sent for a while.
type node struct {
	backend *Backend
	index   int
	client  client
	active  *group
	closing chan struct{} // closed by the session's Close
	kick    chan struct{} // wakes the lane that is parked; capacity 1

	mu       sync.Mutex // guards all below
	queue    []*call
	parked   bool                // lane 0 waits for kick
	begun    [maxLanes]time.Time // when the pipelines under way were sent; zero: none
	failures int                 // in a row
	trouble  error               // the last of them
	resting  time.Time           // until when
	identity *identity           // nil: not known
}

func newNode(b *Backend, i int, g *group) *node {
	return &node{
		backend: b, index: i, client: bounded(b.clients[i]), active: g,
		closing: make(chan struct{}), kick: make(chan struct{}, 1),
	}
}

// Name is the node's address.
func (n *node) Name() string { return n.backend.name(n.index) }

// Ready reports whether the node has answered lately: it is not resting after a
// failure, and no pipeline waits for longer than the time-out.
func (n *node) Ready() bool {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.begun {
		if !t.IsZero() && now.Sub(t) > n.backend.timeout {
			return false
		}
	}
	return now.After(n.resting)
}

// Trouble is the node's last failure, if it has not answered since.
func (n *node) Trouble() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.trouble
}

// Do queues r.
func (n *node) Do(r quorum.Request, answer func(quorum.Answer)) {
	n.enqueue(&call{req: r, answer: answer})
}

// enqueue has c sent: by a lane under way, or by another if there is none or
// those that there are are stuck.
func (n *node) enqueue(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, c)
	free, now := -1, time.Now()
	for i, t := range n.begun {
		switch {
		case t.IsZero():
			if free < 0 {
				free = i
			}
		case now.Sub(t) < n.backend.timeout/2:
			return // it will come back for c
		}
	}
	switch {
	case free < 0:
		return
	case free == 0 && n.parked:
		n.parked = false
		n.kick <- struct{}{}
	default:
		n.active.start(func() { n.run(free) })
	}
	n.begun[free] = now
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
	ctx, cancel := context.WithTimeout(context.Background(), pipelineBound)
	defer cancel()
	id, err := n.identify(ctx)
	if err != nil {
		n.noteFailure(err)
		for _, c := range calls {
			c.answer(quorum.Answer{Verdict: quorum.Declined, Err: err})
		}
		return
	}
	cmds := make([]command, 0, 2*len(calls))
	var sent []*call
	for _, c := range calls {
		if c.req.Lock == nil { // it was to identify the node
			c.answer(quorum.Answer{Verdict: quorum.Done})
			continue
		}
		if c.req.Wanted != nil && !c.req.Wanted() {
			c.answer(quorum.Answer{Verdict: quorum.Declined, Err: errUnwanted})
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
	exec(ctx, n.client, cmds)
	n.noteOutcome(cmds[0].Err())
	for _, c := range sent {
		if a, again := c.settle(n); again {
			n.enqueue(c)
		} else {
			c.answer(a)
		}
	}
}

// noteOutcome takes in how a pipeline went.
func (n *node) noteOutcome(err error) {
	if err != nil && err != goredis.Nil && !isAnswer(err) {
		n.noteFailure(err)
		return
	}
	n.mu.Lock()
	n.failures, n.trouble, n.resting = 0, nil, time.Time{}
	n.mu.Unlock()
}

// noteFailure has the node rest, unless the failure is that of one connection.
// When it is back, it is asked again who it is.
func (n *node) noteFailure(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.identity, n.trouble = nil, err
	if isBroken(err) && n.failures == 0 {
		n.failures++
		return
	}
	n.resting = time.Now().Add(min(firstRest<<min(n.failures, 8), longestRest))
	n.failures++
}

// identify asks the server who it is, if that is not known.
func (n *node) identify(ctx context.Context) (*identity, error) {
	n.mu.Lock()
	known := n.identity
	n.mu.Unlock()
	if known != nil {
		return known, nil
	}
	id, err := askIdentity(ctx, n.client)
	if isBroken(err) { // an idle connection that the server had closed
		id, err = askIdentity(ctx, n.client)
	}
	if err != nil {
		return nil, err
	}
	if err := n.backend.register(n.index, id.runID); err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.identity = &id
	n.mu.Unlock()
	return &id, nil
}

// forget has the server asked again.
func (n *node) forget() {
	n.mu.Lock()
	n.identity = nil
	n.mu.Unlock()
}

// dropCounter deletes the counter of a key that nobody will use again. If it
// fails, the counter ends with its lifetime.
func (n *node) dropCounter(key string) {
	if !n.backend.fenced {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.backend.timeout)
	defer cancel()
	name := redisscript.LockName(n.backend.prefix, key) + redisscript.CounterSuffix
	_ = n.client.Process(ctx, newCommand("del", name))
}
