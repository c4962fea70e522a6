package distlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/fencetest"
)

// What all fences have in common.
func TestFenceRules(t *testing.T) {
	t.Parallel()
	var fence distlock.Fence
	var contents sync.Map
	one := fencetest.Fence{
		Advance: func(_ context.Context, key string, t distlock.Token) error { return fence.Advance(key, t) },
		Write: func(_ context.Context, key string, t distlock.Token, content string) error {
			return fence.Do(key, t, func() error { contents.Store(key, content); return nil })
		},
		Read: func(_ context.Context, key string) (string, error) {
			content, _ := contents.LoadOrStore(key, "")
			return content.(string), nil
		},
		Fail: func(_ context.Context, key string, t distlock.Token) error {
			return fence.Do(key, t, func() error { return errors.New("write's own") })
		},
	}
	fencetest.Run(t, fencetest.Harness{NoContext: true, Open: func(string) fencetest.Fence { return one }})
}
