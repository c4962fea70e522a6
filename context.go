package distlock

import "context"

// Context returns a context that ends with parent, with parent's cause, or
// with the lease, with l.Err() as its cause. It carries the key and the token,
// see TokenFromContext, and costs nothing once either has ended.
func (l *Lease) Context(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	lc := &leaseContext{Context: ctx, lease: l, cancel: cancel}
	c := l.client
	c.mu.Lock()
	err := l.err
	if err == nil {
		if l.contexts == nil {
			l.contexts = make(map[*leaseContext]struct{})
		}
		l.contexts[lc] = struct{}{}
		lc.stop = context.AfterFunc(ctx, lc.forget) // on ours, not on parent: no foreign code under mu
	}
	c.mu.Unlock()
	if err != nil {
		cancel(err)
	}
	return lc
}

// A leaseContext ends with its lease.
type leaseContext struct {
	context.Context // ends with the parent or by cancel
	lease           *Lease
	cancel          context.CancelCauseFunc
	stop            func() bool // of the AfterFunc that forgets it
}

// Done is context.Context's. Like Err it notices by itself that the lease's
// deadline has passed, where the process was stopped and nothing else has run
// yet. It is the inner context's own channel, so that contexts derived from
// this one need no goroutine.
func (c *leaseContext) Done() <-chan struct{} {
	_ = c.Err()
	return c.Context.Done()
}

// Err is context.Context's.
func (c *leaseContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !c.lease.check() {
		c.cancel(c.lease.Err()) // whoever ends the lease may not have come to us yet
	}
	return c.Context.Err()
}

// Value is context.Context's.
func (c *leaseContext) Value(key any) any {
	if _, ok := key.(leaseKey); ok {
		return c.lease
	}
	return c.Context.Value(key)
}

// end is called when the lease has ended.
func (c *leaseContext) end(err error) {
	c.stop()
	c.cancel(err)
}

// forget is called when the parent has ended.
func (c *leaseContext) forget() {
	c.lease.client.mu.Lock()
	delete(c.lease.contexts, c)
	c.lease.client.mu.Unlock()
}
