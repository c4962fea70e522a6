package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// firstPatience is how long a server may take at least to open a session,
// which is written to disk by a majority.
const firstPatience = 2 * time.Second

// errSilent is met when a server does not answer in time to keep the session.
var errSilent = errors.New("the server does not answer")

// A link makes the connections of one session. It is what the client library's
// connection gets as its dialer and as its list of servers, and does what that
// lacks: it reads the session's id and time-out from each server's greeting,
// never lets the library open a second session in the place of the first,
// gives up servers that accept a connection and then say nothing, looks names
// up anew, and tries another server at once where one has closed the
// connection.
type link struct {
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	patience time.Duration // for a server's greeting
	expired  func()        // called once, if a server does not know the session any more
	ctx      context.Context
	cancel   context.CancelFunc

	opened chan struct{} // closed when the session is open
	vain   chan struct{} // closed when every server was tried in vain

	mu      sync.Mutex // guards all below
	servers []string
	next    int
	tried   int   // since the last connection was good
	failed  error // the last time
	current *conn
	hello   greeting         // of the first connection
	czxids  map[string]int64 // of nodes that were just created, by path
}

var _ zk.HostProvider = (*link)(nil)

func newLink(b *Backend, patience time.Duration) *link {
	l := &link{
		dial: b.opts.Dial, patience: patience,
		opened: make(chan struct{}), vain: make(chan struct{}), czxids: make(map[string]int64),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Init is the client library's.
func (l *link) Init(servers []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers = servers
	return nil
}

// Len is the client library's.
func (l *link) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.servers)
}

// Next is the client library's: the next server, and whether all have been
// tried in vain. Then the library fails what waits to be sent, and pauses for
// a second.
func (l *link) Next() (server string, pause bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pause = l.tried == len(l.servers); pause {
		l.tried = 0
		if l.hello.id == 0 {
			closeOnce(l.vain)
		}
	}
	l.tried++
	l.next = (l.next + 1) % len(l.servers)
	return l.servers[l.next], pause
}

// Connected is the client library's.
func (l *link) Connected() {
	l.mu.Lock()
	l.tried = 0
	l.mu.Unlock()
}

// connect is the client library's dialer.
func (l *link) connect(network, address string, _ time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.wait())
	defer cancel()
	c, err := l.dial(ctx, network, address)
	if err != nil {
		l.fail(fmt.Errorf("connect to %s: %w", address, err))
		return nil, err
	}
	return l.adopt(c, address)
}

// wait is how long a server may take for each step until it has greeted.
func (l *link) wait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hello.id == 0 {
		return max(l.patience, firstPatience)
	}
	return l.patience
}

func (l *link) adopt(c net.Conn, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	l.current = newConn(c, l, address)
	return l.current, nil
}

func (l *link) fail(err error) {
	l.mu.Lock()
	l.failed = err
	l.mu.Unlock()
}

// greeted takes a server's greeting. An error ends the connection.
func (l *link) greeted(g greeting) error {
	l.mu.Lock()
	first := l.hello.id == 0
	good := g.id != 0
	if first && good {
		l.hello = g
		close(l.opened)
	}
	good = good && g.id == l.hello.id && g.timeout >= l.hello.timeout
	l.mu.Unlock()
	switch {
	case good:
		return nil
	case first:
		return errors.New("the server opens no session")
	}
	l.expired()
	return errExpired
}

// created is told of a node's creation before the library is.
func (l *link) created(path string, czxid int64) {
	l.mu.Lock()
	l.czxids[path] = czxid
	l.mu.Unlock()
}

// czxid returns that of the node that was just created at path, and forgets it.
func (l *link) czxid(path string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer delete(l.czxids, path)
	return l.czxids[path]
}

// now returns the present connection, which may be broken, or nil.
func (l *link) now() *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// shut cuts the connection, and there will be no other.
func (l *link) shut() {
	l.cancel()
	l.now().cut()
}

// isWhole reports whether nothing has broken the last connection.
func (l *link) isWhole() bool {
	c := l.now()
	return c != nil && !c.broken.Load()
}

// await waits until the session is open, and returns the first greeting.
func (l *link) await(ctx context.Context) (greeting, error) {
	var err error
	select {
	case <-l.opened:
	case <-l.vain:
		err = zk.ErrNoServer
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.hello.id == 0 {
		if l.failed != nil {
			return greeting{}, fmt.Errorf("%w; the last time: %w", err, l.failed)
		}
		return greeting{}, err
	}
	return l.hello, nil
}

// closeOnce closes c unless it is closed. Nobody else may do so meanwhile.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}
