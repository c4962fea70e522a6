package objectfence_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/fencetest"
	"github.com/distlock-go/distlock/objectfence"
)

// A lateStore has something happen before the first put.
type lateStore struct {
	objectfence.Store
	between func()
}

func (s *lateStore) Put(ctx context.Context, name string, body []byte, ifMatch string) error {
	if s.between != nil {
		s.between()
		s.between = nil
	}
	return s.Store.Put(ctx, name, body, ifMatch)
}

// What all fences have in common.
func TestRules(t *testing.T) {
	t.Parallel()
	s := newStore()
	fencetest.Run(t, fencetest.Harness{RollsBack: true, Open: func(source string) fencetest.Fence {
		f := objectfence.New(s, objectfence.Options{Source: source})
		return fencetest.Fence{
			Advance: f.Advance,
			Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
				return f.Update(ctx, key, t, to(content))
			},
			Read: func(ctx context.Context, key string) (string, error) {
				content, err := f.Read(ctx, key)
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
				return string(content), err
			},
			Reset: f.Reset,
			LateReset: func(ctx context.Context, key string, between func()) error {
				return objectfence.New(&lateStore{s, between}, objectfence.Options{Source: source}).Reset(ctx, key)
			},
			Fail: func(ctx context.Context, key string, t distlock.Token) error {
				return f.Update(ctx, key, t, func([]byte) ([]byte, error) { return nil, errors.New("change's own") })
			},
		}
	}})
}
