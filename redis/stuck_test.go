package redis

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/rediscall"
	goredis "github.com/redis/go-redis/v9"
)

// hanging returns a lane whose pipelines hang, two of them with calls behind, and what
// ends that.
func hanging(t *testing.T, queued int) *lane {
	ctx, cancel := context.WithCancel(t.Context())
	rdb := goredis.NewClient(&goredis.Options{
		DialerRetries: 1, Dialer: func(context.Context, string, string) (net.Conn, error) {
			<-ctx.Done()
			return nil, errors.New("nobody there")
		},
	})
	l := &lane{client: rdb, busy: 2}
	for range queued {
		l.queue = append(l.queue, newHanging())
	}
	t.Cleanup(func() {
		cancel()
		l.active.Wait()
		rdb.Close()
	})
	return l
}

func newHanging() *call { return &call{cmd: rediscall.New("ping"), done: make(chan struct{})} }

// Calls that stay queued get all the pipelines there may be, whatever happened before.
func TestQueueIsLookedAfterUntilItIsEmpty(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*lane){
		"a call behind many": func(l *lane) { l.start(newHanging()) },
		"one pipeline moved, and hangs": func(l *lane) {
			l.mu.Lock()
			l.lookAfter()
			l.taken++
			l.mu.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := hanging(t, 4*maxPipeline)
			begin(l)
			busy := 0
			for end := time.Now().Add(10 * time.Second); busy < maxLanes && time.Now().Before(end); time.Sleep(time.Millisecond) {
				l.mu.Lock()
				busy = l.busy
				l.mu.Unlock()
			}
			if busy != maxLanes {
				t.Errorf("%d pipelines, want %d", busy, maxLanes)
			}
		})
	}
}
