package redis_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// A silent conn takes everything and answers nothing. It notes whether reads have a
// time-out.
type silent struct {
	net.Conn
	bounded *atomic.Bool
}

func (silent) Write(b []byte) (int, error) { return len(b), nil }

func (s silent) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		s.bounded.Store(true)
	}
	return s.Conn.SetReadDeadline(t)
}

func (s silent) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// A user without a time-out leaves a goroutine and a connection behind with each call
// on a server that does not answer, but not for ever.
func TestEveryCallOnASilentServerEnds(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *redislock.Backend) error{
		"Inspect": func(ctx context.Context, b *redislock.Backend) error { _, err := b.Inspect(ctx, "k"); return err },
		"Break":   func(ctx context.Context, b *redislock.Backend) error { return b.Break(ctx, "k", 1, 0) },
		"Ping":    func(ctx context.Context, b *redislock.Backend) error { return b.Ping(ctx) },
		"Open": func(ctx context.Context, b *redislock.Backend) error {
			_, err := b.Open(ctx, distlock.Terms{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bounded atomic.Bool
			rdb := goredis.NewClient(&goredis.Options{ReadTimeout: -1, Dialer: func(context.Context, string, string) (net.Conn, error) {
				c, other := net.Pipe()
				t.Cleanup(func() { other.Close() })
				return silent{c, &bounded}, nil
			}})
			t.Cleanup(func() { rdb.Close() })
			err := call(within(t, 50*time.Millisecond), redislock.New(rdb, nil))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of ctx", err)
			}
			eventually(t, "a read with a time-out", bounded.Load)
		})
	}
}
