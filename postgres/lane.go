package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// maxFlight bounds the calls of one flight.
const maxFlight = 128

// A lane is a lock connection. Calls that come while others are under way go
// together in the next flight: one write, and one statement for all calls of a
// kind, so that they share a round trip and a commit. No caller writes itself: a
// write can be stuck, for longer than the caller has time.
//
// One goroutine reads, all the time: so the end of the connection is known as
// soon as the server says so, and notifications come in between. A caller whose
// ctx ends leaves; nothing of that reaches the connection, and the answer is
// taken in for the session's account. What does leave the connection's state in
// doubt closes it: an error or a warning from the server, an answer that does not
// fit, or a write that is stuck.
type lane struct {
	conn      net.Conn
	front     *pgproto3.Frontend
	namespace string
	pid       int64
	bound     time.Duration                                 // of one write
	heard     func(channel string, pid uint32, what string) // of notifications
	over      chan struct{}                                 // closed when the reader has ended
	sending   sync.Mutex                                    // one flight at a time is written
	senders   sync.WaitGroup                                // started under mu, while dead is nil

	mu     sync.Mutex // guards all below
	queue  []*call
	busy   bool    // a flight is under way or being sent
	flight []*step // it, in the order of the answers
	doubt  error   // why we have closed the connection, if we have
	dead   error   // why it is closed; matches ErrLost
}

// errUnsent is the outcome of calls that nobody waited for any more.
var errUnsent = distlock.Refused(errors.New("not sent"))

// newLane takes a connection over. The caller starts the reader. A write may take
// half a TTL: the last sign of life is a third old at most when it begins, so the
// connection is given up before its leases end, and the next one is on time.
func newLane(c *pgconn.HijackedConn, namespace string, ttl time.Duration, heard func(string, uint32, string)) *lane {
	return &lane{
		conn: c.Conn, front: c.Frontend, namespace: namespace, bound: ttl / 2, heard: heard,
		over: make(chan struct{}),
	}
}

// do sends c and returns its outcome, or ctx's error if that ends before.
func (l *lane) do(ctx context.Context, c *call) error {
	l.start(c)
	return c.await(ctx)
}

// await returns the outcome of c, or ctx's error if that ends before.
func (c *call) await(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start has calls sent, in order. It does not wait for that.
func (l *lane) start(calls ...*call) {
	if len(calls) == 0 {
		return
	}
	l.mu.Lock()
	if l.dead != nil {
		l.mu.Unlock()
		for _, c := range calls {
			c.finish(l.dead)
		}
		return
	}
	defer l.mu.Unlock()
	l.queue = append(l.queue, calls...)
	if !l.busy {
		l.busy = true
		l.senders.Go(l.send)
	}
}

// send sends what has queued up, or leaves the lane if that is nothing. The
// caller has made the lane busy, or has taken the last answer. A write that is
// over its bound ends the connection: it may have been sent in part.
func (l *lane) send() {
	flight, unsent := l.take()
	for _, c := range unsent {
		c.finish(errUnsent)
	}
	if len(flight) == 0 {
		return
	}
	l.sending.Lock() // the answer can overtake the end of the last write
	defer l.sending.Unlock()
	for _, s := range flight {
		s.send(l.front, l.namespace)
	}
	err := l.conn.SetWriteDeadline(time.Now().Add(l.bound))
	if err == nil {
		err = l.front.Flush()
	}
	if err != nil {
		l.close(err)
	}
}

// take makes a flight of what has queued up. If that is nothing the lane is not
// busy any more.
func (l *lane) take() (flight []*step, unsent []*call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := make([]*call, 0, min(len(l.queue), maxFlight))
	for len(l.queue) > 0 && len(calls) < maxFlight {
		c := l.queue[0]
		l.queue = l.queue[1:]
		if c.left.Load() {
			unsent = append(unsent, c)
		} else {
			calls = append(calls, c)
		}
	}
	l.flight = steps(calls)
	l.busy = len(calls) > 0
	if len(l.queue) == 0 {
		l.queue = nil
	}
	return l.flight, unsent
}

// close ends the connection for cause, once: it has the reader do so, after it has
// told of the loss.
func (l *lane) close(cause error) {
	l.mu.Lock()
	if l.doubt == nil {
		l.doubt = cause
	}
	l.mu.Unlock()
	_ = l.conn.SetDeadline(time.Unix(1, 0)) // long past
}

// goodbye ends the connection in good order: when it returns nil the server
// process is gone, and all its locks with it. In any case the connection is
// closed, and the reader and all senders have ended.
func (l *lane) goodbye(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, goodbyeBound)
	defer cancel()
	inTime := context.AfterFunc(ctx, func() { l.close(errGoodbye) }) // ends a write that is stuck too
	l.sayGoodbye(ctx)
	<-l.over // the server closes its end with the process' end
	l.senders.Wait()
	if !inTime() {
		return fmt.Errorf("the server did not end the lock connection: %w", ctx.Err())
	}
	return nil
}

// sayGoodbye tells the server to end. The bound of the last flight's write may have
// passed since, and would let nothing out any more. Whether the word has left is seen by
// the end of the connection. Where ctx has ended, its own call of close may have come
// before and been undone, so nothing is written; should it end later, that stands.
func (l *lane) sayGoodbye(ctx context.Context) {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.front.Send(&pgproto3.Terminate{})
	if l.conn.SetWriteDeadline(time.Now().Add(goodbyeBound)) == nil && ctx.Err() == nil {
		_ = l.front.Flush()
	}
}

// goodbyeBound is how long the server may take to end a connection that is told
// to end.
const goodbyeBound = time.Second

var errGoodbye = errors.New("closed by us")

// read is the goroutine that reads until the connection ends. It tells of the loss
// before it closes the connection: with that the locks are free.
func (l *lane) read(ended func(cause error)) {
	defer close(l.over)
	err := l.receive()
	l.mu.Lock()
	if l.doubt != nil {
		err = l.doubt
	}
	dead := fmt.Errorf("%w: lock connection ended: %w", distlock.ErrLost, err)
	l.dead = dead
	queue, flight := l.queue, l.flight
	l.queue, l.flight = nil, nil
	l.mu.Unlock()
	ended(err)
	_ = l.conn.Close()
	for _, s := range flight {
		s.finish(s.lost(dead, err))
	}
	for _, c := range queue {
		c.finish(dead)
	}
}

// lost is the outcome of calls whose answer never came. A release may have been
// carried out.
func (s *step) lost(dead, cause error) error {
	if s.verb == release || s.verb == settle {
		return fmt.Errorf("lock connection ended before the answer: %w", cause)
	}
	return dead
}
