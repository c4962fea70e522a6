package memsession

import "context"

// An Op names what passes between a Backend and its Service.
type Op string

// The calls, and what the service sends by itself: Wake and Notify.
const (
	Ping      Op = "ping"
	Open      Op = "open"
	Acquire   Op = "acquire"
	Enqueue   Op = "enqueue"
	KeepAlive Op = "keep-alive"
	Release   Op = "release"
	Inspect   Op = "inspect"
	Break     Op = "break"
	Close     Op = "close"
	Wake      Op = "wake"
	Notify    Op = "notify"
)

// Hooks stand in for a network's faults. Either may be nil. They run without
// any lock, on the goroutine of the call, and may block; ctx is the call's.
type Hooks struct {
	// Before runs before a call reaches the service. An error is the call's
	// result, and the call is not carried out: a lost request.
	Before func(ctx context.Context, op Op, key string) error
	// After runs after a call was carried out. An error replaces its result: a
	// lost reply. For Wake and Notify, which have no request, an error drops
	// the message; their ctx never ends.
	After func(ctx context.Context, op Op, key string) error
}

// SetHooks replaces the hooks for what begins from now on.
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

// deliver passes a message of the service on, in a goroutine of its own that
// ends with the After hook and f.
func (b *Backend) deliver(op Op, key string, f func()) {
	b.mu.Lock()
	after := b.hooks.After
	b.mu.Unlock()
	go func() {
		if after == nil || after(context.Background(), op, key) == nil {
			f()
		}
	}()
}
