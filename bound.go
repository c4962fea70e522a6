package distlock

import (
	"context"
	"sync"
	"time"
)

// A boundContext ends with its parent, at a deadline, or by cancel, like one of
// context.WithDeadline. It takes a timer only when somebody waits for its end:
// most requests are answered before, and to start and stop a timer for each costs
// them several per cent of a round trip over loopback.
type boundContext struct {
	context.Context           // the parent
	own             time.Time // the deadline that is not the parent's

	mu        sync.Mutex
	cancelled bool
	armed     context.Context // nil until somebody waits for the end, or b has ended
	stop      context.CancelFunc
}

// within returns a context that ends with ctx or after d, whichever is first.
func within(ctx context.Context, d time.Duration) *boundContext {
	return &boundContext{Context: ctx, own: time.Now().Add(d)}
}

func (b *boundContext) Deadline() (time.Time, bool) {
	if end, ok := b.Context.Deadline(); ok && end.Before(b.own) {
		return end, true
	}
	return b.own, true
}

func (b *boundContext) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.arm().Done()
}

func (b *boundContext) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.armed == nil && !b.cancelled && b.Context.Err() == nil && time.Now().Before(b.own) {
		return nil
	}
	return b.arm().Err()
}

// Value is that of the armed context where there is one: by it the contexts that are
// derived from b hear of its end.
func (b *boundContext) Value(key any) any {
	b.mu.Lock()
	ctx := b.armed
	b.mu.Unlock()
	if ctx == nil {
		ctx = b.Context
	}
	return ctx.Value(key)
}

// arm makes the context that ends by itself. b.mu is held.
func (b *boundContext) arm() context.Context {
	if b.armed == nil {
		b.armed, b.stop = context.WithDeadline(b.Context, b.own)
		if b.cancelled {
			b.stop()
		}
	}
	return b.armed
}

// cancel ends b.
func (b *boundContext) cancel() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancelled = true
	if b.armed != nil {
		b.stop()
	}
}
