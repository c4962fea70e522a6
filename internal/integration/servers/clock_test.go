package servers_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

func TestClockIsShiftedFromOneMomentToTheNext(t *testing.T) {
	t.Parallel()
	for _, spec := range []servers.Spec{servers.Redis, servers.Valkey91} {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, spec.WithClock())
			expect := func(want time.Duration) {
				t.Helper()
				if got := ahead(t, s); got < want-time.Minute || got > want+time.Minute {
					t.Errorf("the server's clock is %v ahead, want %v", got, want)
				}
			}
			shift := func(d time.Duration) {
				t.Helper()
				servers.Do(t, func(ctx context.Context) error { return s.ShiftClock(ctx, d) })
			}
			expect(0)
			shift(time.Hour)
			expect(time.Hour)
			done := make(chan struct{})
			go func() { // ends with the last shift
				defer close(done)
				for range 20 {
					if err := s.ShiftClock(t.Context(), -2*time.Hour); err != nil {
						t.Error(err)
					}
				}
			}()
			for over := false; !over; {
				if got := ahead(t, s); got > -time.Hour && got < time.Hour/2 {
					t.Errorf("the clock was %v ahead while it was set from an hour ahead to two back", got)
				}
				select {
				case <-done:
					over = true
				default:
				}
			}
			expect(-2 * time.Hour)
			servers.Do(t, s.Kill, s.Start)
			expect(-2 * time.Hour)
			shift(0)
			expect(0)
		})
	}
}

func TestClockOfAnotherServerIsNotShifted(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	if err := s.ShiftClock(t.Context(), time.Hour); err == nil || !strings.Contains(err.Error(), "WithClock") {
		t.Errorf("got %v, want an error that names what is missing", err)
	}
	if got := ahead(t, s); got > time.Minute {
		t.Errorf("its clock is %v ahead", got)
	}
}

// ahead returns how far the server's clock is ahead of the host's.
func ahead(t *testing.T, s *servers.Server) time.Duration {
	t.Helper()
	seconds, err := strconv.ParseInt(redis(t, s.Addr(), "EVAL \"return redis.call('TIME')[1]\" 0"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(time.Unix(seconds, 0))
}
