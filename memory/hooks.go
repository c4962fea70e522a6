package memory

import "context"

// An Op names a call to the service.
type Op string

// The calls that hooks see. Acquire is one attempt, Renew one lease of a batch.
// Inspect is also how a sequencer is checked.
const (
	Ping    Op = "ping"
	Open    Op = "open"
	Acquire Op = "acquire"
	Renew   Op = "renew"
	Release Op = "release"
	Inspect Op = "inspect"
	Break   Op = "break"
	Close   Op = "close"
)

// Hooks stand in for a network's faults. Either may be nil. They run without
// any lock, on the goroutine of the call, and may block; ctx is the call's.
type Hooks struct {
	// Before runs before a call reaches the service. An error is the call's
	// result, and the call is not carried out: a lost request.
	Before func(ctx context.Context, op Op, key string) error
	// After runs after a call was carried out. An error replaces its result: a
	// lost reply.
	After func(ctx context.Context, op Op, key string) error
}

// SetHooks replaces the hooks for the calls that begin from now on.
func (b *Backend) SetHooks(h Hooks) {
	b.mu.Lock()
	b.hooks = h
	b.mu.Unlock()
}

// call carries f out between the hooks.
func (b *Backend) call(ctx context.Context, op Op, key string, f func() error) error {
	b.mu.Lock()
	h := b.hooks
	b.mu.Unlock()
	if h.Before != nil {
		if err := h.Before(ctx, op, key); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := f()
	if h.After != nil {
		if lost := h.After(ctx, op, key); lost != nil {
			return lost
		}
	}
	return err
}
