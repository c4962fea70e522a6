package zookeeper_test

import (
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
)

// Stands for: an attempt that the end of its session cuts short, and whose caller is told
// of that instead of getting the key on the next one.
func TestAttemptOnAClosedSessionFindsItGone(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	api, r := s.session(s.backend(), "k")
	if err := api.Close(within(t, bound)); err != nil {
		t.Fatal(err)
	}
	if _, err := api.TryAcquire(within(t, bound), r); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
}
