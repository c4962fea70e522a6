package locktest_test

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

// connect returns a backend behind w, which may be nil.
func (s *service) connect(w *wire) distlock.Backend {
	b := &backend{service: s, wire: w}
	if s.fault.inspector {
		return inspector{b}
	}
	return b
}

// An inspector is a backend that is an Inspector, with its faults.
type inspector struct{ *backend }

func (i inspector) Inspect(ctx context.Context, key string) (info distlock.LockInfo, err error) {
	inspect := i.service.inspect
	if f := i.service.fault.inspect; f != nil {
		inspect = func(ctx context.Context, key string) (distlock.LockInfo, error) { return f(ctx, i.service, key) }
	}
	return info, i.passes(ctx, func() error {
		info, err = inspect(ctx, key)
		return err
	})
}

func (i inspector) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	breaks := i.service.breaks
	if f := i.service.fault.breaks; f != nil {
		breaks = func(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
			return f(ctx, i.service, key, t, delay)
		}
	}
	return i.passes(ctx, func() error { return breaks(ctx, key, t, delay) })
}

// passes carries f out over the wire.
func (b *backend) passes(ctx context.Context, f func() error) error {
	if err := b.wire.request(ctx); err != nil {
		return err
	}
	return errors.Join(f(), b.wire.reply(ctx))
}

// inspect is memory's, but for what is foreign.
func (s *service) inspect(ctx context.Context, key string) (distlock.LockInfo, error) {
	if s.isForeign(key) {
		return distlock.LockInfo{}, distlock.ErrForeign
	}
	return s.memory.Inspect(ctx, key)
}

// breaks is likewise.
func (s *service) breaks(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	if s.isForeign(key) {
		return distlock.ErrForeign
	}
	return s.memory.Break(ctx, key, t, delay)
}

func (s *service) isForeign(key string) bool { return s.owner(key+" foreign") != nil }
