// Package pause waits.
package pause

import (
	"context"
	"time"
)

// For returns after d, or with ctx's error when ctx ends.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
