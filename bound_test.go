package distlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestBoundContextIsOneOfContext compares it with what context.WithTimeout gives, at
// each way to end and whenever somebody begins to wait.
func TestBoundContextIsOneOfContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for name, end := range map[string]func(parent context.CancelCauseFunc, own context.CancelFunc){
		"time-out": func(context.CancelCauseFunc, context.CancelFunc) { time.Sleep(time.Second) },
		"cancel":   func(_ context.CancelCauseFunc, own context.CancelFunc) { own() },
		"parent":   func(parent context.CancelCauseFunc, _ context.CancelFunc) { parent(cause) },
		"not":      func(context.CancelCauseFunc, context.CancelFunc) {},
	} {
		for _, waits := range []string{"before", "after", "never"} {
			t.Run(name+", waited for "+waits, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), keyOfTest{}, 1))
					defer cancelParent(nil)
					got := within(parent, time.Second)
					want, cancel := context.WithTimeout(parent, time.Second)
					defer cancel()
					defer got.cancel()
					if waits == "before" {
						got.Done()
					}
					end(cancelParent, func() { got.cancel(); cancel() })
					synctest.Wait()
					if waits == "after" {
						got.Done()
					}
					compareContexts(t, got, want)
				})
			})
		}
	}
}

type keyOfTest struct{}

func compareContexts(t *testing.T, got, want context.Context) {
	t.Helper()
	if got.Err() != want.Err() {
		t.Errorf("Err is %v, want %v", got.Err(), want.Err())
	}
	if context.Cause(got) != context.Cause(want) {
		t.Errorf("the cause is %v, want %v", context.Cause(got), context.Cause(want))
	}
	if g, w := isDone(got), isDone(want); g != w {
		t.Errorf("Done is closed: %v, want %v", g, w)
	}
	if g, _ := got.Deadline(); !sameDeadline(want, g) {
		t.Errorf("the deadline is %v", g)
	}
	if got.Value(keyOfTest{}) != 1 {
		t.Error("the parent's values are missing")
	}
	child, cancel := context.WithCancel(got)
	defer cancel()
	synctest.Wait()
	if g, w := isDone(child), isDone(want); g != w {
		t.Errorf("Done of a context that is derived from it is closed: %v, want %v", g, w)
	}
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

func sameDeadline(ctx context.Context, d time.Time) bool {
	w, ok := ctx.Deadline()
	return ok && w.Equal(d)
}

func TestBoundContextTakesTheEarlierDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b := within(parent, time.Hour)
		defer b.cancel()
		if d, _ := b.Deadline(); !d.Equal(time.Now().Add(time.Second)) {
			t.Errorf("the deadline is %v, want the parent's", d)
		}
	})
}
