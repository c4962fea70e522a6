package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect tells which grant has key, and how many clients wait for it.
func (b *Backend) Inspect(ctx context.Context, key string) (info distlock.LockInfo, err error) {
	err = b.call(ctx, Inspect, key, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		info.Waiters = len(b.watchers[key])
		if g := b.live(key); g != nil {
			info.Held, info.Token, info.Holder = g.token != 0, g.token, g.holder
			info.Left = time.Until(g.expires)
		}
		return nil
	})
	return info, err
}

// Break ends the grant of key that has token t. With a delay, a grant that is
// nobody's takes its place for as long.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	return b.call(ctx, Break, key, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if g := b.live(key); g == nil || g.token != t {
			return fmt.Errorf("%w: that grant does not have the key", distlock.ErrStale)
		}
		if delay > 0 {
			b.grants[key] = &grant{owner: distlock.NewOwner(), expires: time.Now().Add(delay)}
			return nil
		}
		b.free(key)
		return nil
	})
}
