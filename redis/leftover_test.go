package redis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	goredis "github.com/redis/go-redis/v9"
)

// A mute client answers nothing: its calls end with their ctx.
type mute struct {
	Client
	calls int
}

func (m *mute) Process(ctx context.Context, cmd goredis.Cmder) error {
	m.calls++
	<-ctx.Done()
	cmd.SetErr(ctx.Err())
	return ctx.Err()
}

// What may be left on a server that does not answer is given up with the session: by
// one more request at most, for which nobody waits for long.
func TestCloseEndsWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{
		"before the first request": copyArrives[0] / 2,
		"while one is under way":   copyArrives[0] + time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &mute{}
				s := newSession(New(m, nil))
				s.forget(distlock.Hold{Key: "k", Owner: distlock.NewOwner()})
				time.Sleep(before)
				start := time.Now()
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); m.calls != 1 || took > rediscall.Bound { // that is the lane's own
					t.Errorf("Close took %v and %d requests", took, m.calls)
				}
			})
		})
	}
}

// Stands for: a request whose lane had no room for it was waited for as long as one
// may take that nobody closes.
func TestGivingBackIsShortOnceClosing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSession(New(&mute{}, nil))
		begun := time.Now()
		done := make(chan time.Duration, 1)
		go func() { // ends with closingBound
			s.giveBack(distlock.Hold{Key: "k", Owner: distlock.NewOwner()})
			done <- time.Since(begun)
		}()
		time.Sleep(100 * time.Millisecond)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(over)
		if took := <-done; took > 100*time.Millisecond+closingBound {
			t.Errorf("it went on for %v", took)
		}
		s.lane.active.Wait()
	})
}
