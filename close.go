package distlock

import (
	"context"
	"sync"
)

// maxClosers bounds the releases that Close has under way at a time.
const maxClosers = 64

// Close gives up everything the client has. New calls and waiters get
// ErrClosed, the contexts and Done channels of leases end (ErrReleased),
// functions that run in Do are awaited until ctx ends, and meanwhile their
// leases are renewed; then all leases are released, sessions ended and
// goroutines awaited. What is left on the server of a lost lease stays there
// for its lock-delay: where grants live by a session, Close waits for that,
// elsewhere the server is left to forget it.
//
// It returns nil when all is done, and an error that matches ctx.Err() if ctx
// ended before that, as it must if Close is called within a function of Do and
// waits for that; the rest is then done without waiting for the functions
// that still run, behind the call. A second Close returns nil, at the latest
// when the first one has done everything or its own ctx ends. The user's own
// client stays open.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	first := !c.isClosing()
	if first {
		close(c.closing)
		for l := range c.leases {
			c.end(l, ErrReleased)
		}
		for _, cancel := range c.calls {
			c.after = append(c.after, cancel)
		}
		go c.shutDown(ctx) // ends with c.closed
	}
	c.unlock()
	select {
	case <-c.closed:
	case <-ctx.Done():
		if first {
			return c.fail("close", "", ended(ctx))
		}
	}
	return nil
}

// shutDown does what Close promises, in its order.
func (c *Client) shutDown(ctx context.Context) {
	defer close(c.closed)
	c.ops.Wait() // cut short by c.closing
	quiet := make(chan struct{})
	go func() { c.running.Wait(); close(quiet) }() // ends with the last fn
	select {
	case <-quiet:
	case <-ctx.Done():
	}
	rctx := detached(ctx)
	defer rctx.cancel()
	defer context.AfterFunc(rctx, c.endBase)()
	c.releaseAll(rctx)
	c.mu.Lock()
	swept := c.sweep()
	c.unlock()
	<-swept
	c.mu.Lock()
	for _, s := range c.sessions {
		if s.isOpen {
			c.finish(s, ErrReleased, 0)
		}
	}
	c.agenda.nudge()
	c.unlock()
	c.work.Wait()
	c.endBase()
}

// releaseAll releases every lease that is left, several at a time.
func (c *Client) releaseAll(ctx context.Context) {
	c.mu.Lock()
	leases := make([]*Lease, 0, len(c.leases))
	for l := range c.leases {
		leases = append(leases, l)
	}
	c.mu.Unlock()
	var wg sync.WaitGroup
	next := make(chan *Lease)
	for range min(maxClosers, len(leases)) {
		wg.Go(func() {
			for l := range next {
				_ = l.tracedRelease(ctx) // the trace is told
			}
		})
	}
	for _, l := range leases {
		next <- l
	}
	close(next)
	wg.Wait()
}
