package distlock_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
)

func TestFence(t *testing.T) {
	var f distlock.Fence
	for _, step := range []struct {
		key   string
		token distlock.Token
		want  error
	}{
		{"k", 0, distlock.ErrInvalid},
		{"k", 5, nil},
		{"k", 5, nil},
		{"k", 4, distlock.ErrStale},
		{"k", 0, distlock.ErrInvalid},
		{"other", 1, nil},
		{"k", 7, nil},
		{"k", 5, distlock.ErrStale},
		{"k", math.MaxInt64 + 1, distlock.ErrInvalid},
		{"k", math.MaxInt64, nil},
		{"k", math.MaxInt64, nil},
		{"k", math.MaxInt64 - 1, distlock.ErrStale},
		{"other", 2, nil},
	} {
		is(t, fmt.Sprintf("Advance(%q, %v)", step.key, step.token), f.Advance(step.key, step.token), step.want)
		called := false
		err := f.Do(step.key, step.token, func() error { called = true; return nil })
		is(t, fmt.Sprintf("Do(%q, %v)", step.key, step.token), err, step.want)
		if called != (step.want == nil) {
			t.Errorf("Do(%q, %v): write called is %v", step.key, step.token, called)
		}
	}
	want := `distlock: fence "other": stale token: 1 is smaller than 2`
	if err := f.Advance("other", 1); err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestFailedWriteLeavesTheMarkRaised(t *testing.T) {
	var f distlock.Fence
	own := errors.New("own")
	if err := f.Do("k", 5, func() error { return own }); err != own {
		t.Errorf("got %v, want write's own error as it is", err)
	}
	is(t, "Advance", f.Advance("k", 4), distlock.ErrStale)
	func() {
		defer func() { recover() }()
		f.Do("k", 6, func() error { panic("boom") })
	}()
	is(t, "Advance", f.Advance("k", 5), distlock.ErrStale)
	is(t, "Advance", f.Advance("k", 6), nil)
}

// Check and write are one step: a write with a smaller token never follows.
func TestFenceUnderContention(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	last := map[string]distlock.Token{"a": 0, "b": 0}
	var mu sync.Mutex // guards the map, not the order of writes
	var wg sync.WaitGroup
	for i := range 2000 {
		key := []string{"a", "b"}[i%2]
		wg.Go(func() {
			token := distlock.Token(i + 1)
			err := f.Do(key, token, func() error {
				mu.Lock()
				defer mu.Unlock()
				if last[key] > token {
					t.Errorf("%s: %v was written after %v", key, token, last[key])
				}
				last[key] = token
				return nil
			})
			if err != nil {
				is(t, "Do", err, distlock.ErrStale)
			}
		})
	}
	wg.Wait()
	if last["a"] != 1999 || last["b"] != 2000 {
		t.Errorf("the largest tokens were not written: %v", last)
	}
}

func TestFenceHoldsOneKeyDuringAWrite(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	writing, end := make(chan struct{}), make(chan struct{})
	order := make(chan string, 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		f.Do("k", 1, func() error { close(writing); <-end; order <- "first"; return nil })
	})
	<-writing
	wg.Go(func() { f.Do("k", 2, func() error { order <- "second"; return nil }) })
	is(t, "Advance of another key during the write", f.Advance("other", 1), nil)
	close(end)
	wg.Wait()
	if got := <-order; got != "first" {
		t.Errorf("%s was written first", got)
	}
}

func TestFencingLevels(t *testing.T) {
	for level, want := range map[distlock.Fencing]string{
		distlock.FencingNone: "none", distlock.FencingBestEffort: "best effort",
		distlock.FencingDurable: "durable", 7: "Fencing(7)",
	} {
		if got := level.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	for _, s := range []string{
		"", "0", "1", "01", "+1", "-1", " 1", "1 ", "1_0", "0x1", "1e3", "１",
		"9223372036854775807", "9223372036854775808", "18446744073709551616",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token, err := distlock.ParseToken(s)
		n, perr := strconv.ParseInt(s, 10, 64)
		valid := perr == nil && n > 0 && strconv.FormatInt(n, 10) == s
		switch {
		case valid && (err != nil || token.String() != s || int64(token) != n):
			t.Errorf("ParseToken(%q): got %v, %v", s, token, err)
		case !valid && (!errors.Is(err, distlock.ErrInvalid) || token != 0):
			t.Errorf("ParseToken(%q): got %v, %v; want 0, ErrInvalid", s, token, err)
		}
	})
}
