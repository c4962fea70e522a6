package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	"github.com/distlock-go/distlock/internal/redisscript"
	"github.com/distlock-go/distlock/internal/tasks"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// firstRest and longestRest are for how long a node that has failed is not
	// asked first: it is doubled from failure to failure.
	firstRest   = 50 * time.Millisecond
	longestRest = time.Second
)

// bounded is c with a time-out on its reads: see rediscall.Bounded. That is only for a
// plain client; of others the user's time-outs are all there is.
func bounded(c goredis.UniversalClient) rediscall.Client {
	if plain, ok := c.(*goredis.Client); ok {
		return rediscall.Bounded(plain)
	}
	return c
}

// A node is one server, as one session sees it. Calls that come while a
// pipeline is under way go together in the next: so a busy client shares round
// trips. They are sent by lanes: goroutines of which there is none once nothing
// was to be sent for a while.
type node struct {
	backend *Backend
	index   int
	client  rediscall.Client
	active  *tasks.Group
	closing chan struct{} // closed by the session's Close
	kick    chan struct{} // wakes the lane that is parked; capacity 1

	mu       sync.Mutex // guards all below
	queue    []*call
	parked   bool                // lane 0 waits for kick
	begun    [maxLanes]time.Time // when the pipelines under way were sent; zero: none
	look     *time.Timer         // attends to the queue
	looking  bool                // look is set
	failures int                 // in a row
	trouble  error               // the last of them
	resting  time.Time           // until when
	identity *identity           // nil: not known
}

func newNode(b *Backend, i int, g *tasks.Group) *node {
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

// noteOutcome takes in how a pipeline went.
func (n *node) noteOutcome(err error) {
	if err != nil && err != goredis.Nil && !redisreply.IsAnswer(err) {
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
	if redisreply.IsBroken(err) && n.failures == 0 {
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
	if redisreply.IsBroken(err) { // an idle connection that the server had closed
		id, err = askIdentity(ctx, n.client)
	}
	if err != nil {
		return nil, err
	}
	if err := n.backend.register(n.index, id.RunID); err != nil {
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
	_ = n.client.Process(ctx, rediscall.New("del", name))
}
