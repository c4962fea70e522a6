package mark

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/fencetest"
)

// A memory has marks and contents, and checks a version in the step that writes.
type memory struct {
	mu       sync.Mutex // guards all below
	texts    map[string]string
	versions map[string]int64
	contents map[string]string
}

func (m *memory) Read(_ context.Context, key string) (string, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.texts[key], m.versions[key], nil
}

func (m *memory) Swap(_ context.Context, key, text string, version int64) (int64, error) {
	err := m.in(key, version, func() error {
		m.texts[key] = text
		m.versions[key]++
		return nil
	})
	return version + 1, err
}

func (*memory) Refused(err error) bool { return errors.Is(err, errAnswer) }

// A lateStore has something happen before the first Swap.
type lateStore struct {
	Store
	between func()
}

func (s *lateStore) Swap(ctx context.Context, key, text string, version int64) (int64, error) {
	if s.between != nil {
		s.between()
		s.between = nil
	}
	return s.Store.Swap(ctx, key, text, version)
}

// in is what a store's transaction is: f, if the mark is in this version.
func (m *memory) in(key string, version int64, f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.versions[key] != version {
		return ErrMoved
	}
	return f()
}

// What all fences have in common, without a server.
func TestRules(t *testing.T) {
	m := &memory{texts: map[string]string{}, versions: map[string]int64{}, contents: map[string]string{}}
	fencetest.Run(t, fencetest.Harness{
		Open: func(source string) fencetest.Fence {
			f := New("memory", source, m, nil)
			write := func(ctx context.Context, key string, t distlock.Token, do func() error) error {
				return f.Write(ctx, key, t, func(version int64) error { return m.in(key, version, do) })
			}
			return fencetest.Fence{
				Advance: f.Advance,
				Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
					return write(ctx, key, t, func() error { m.contents[key] = content; return nil })
				},
				Read: func(_ context.Context, key string) (string, error) {
					m.mu.Lock()
					defer m.mu.Unlock()
					return m.contents[key], nil
				},
				Reset: f.Reset,
				LateReset: func(ctx context.Context, key string, between func()) error {
					return New("memory", source, &lateStore{Store: m, between: between}, nil).Reset(ctx, key)
				},
				Fail: func(ctx context.Context, key string, t distlock.Token) error {
					return write(ctx, key, t, func() error { return errAnswer })
				},
			}
		},
		Spoil: func(_ context.Context, key, text string) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.texts[key] = text
			m.versions[key]++
			return nil
		},
	})
}
