package mark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
)

// What is taken for a mark is written the same again, and is one that a fence can
// have written.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"etcd eu 1757", "a 0", "a 9223372036854775807", "a 9223372036854775808", "a 01", " 1", "a ", "a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parse(text)
		if err != nil {
			if !errors.Is(err, distlock.ErrInvalid) || errors.Is(err, distlock.ErrSource) {
				t.Errorf("%q: got %v, want ErrInvalid", text, err)
			}
			return
		}
		if m.text() != text || distlock.CheckSource(m.source) != nil || m.token > 1<<63-1 {
			t.Errorf("%q: got %+v", text, m)
		}
	})
}

// A fake has one mark.
type fake struct {
	text    string
	version int64
	fail    error // what Swap answers, and does nothing
	reads   int
	swaps   int
}

var (
	errAnswer  = errors.New("the server's answer")
	errNetwork = errors.New("no answer")
)

func (s *fake) Read(context.Context, string) (string, int64, error) {
	s.reads++
	return s.text, s.version, nil
}

func (s *fake) Swap(_ context.Context, _, text string, version int64) (int64, error) {
	s.swaps++
	switch {
	case s.fail != nil:
		return 0, s.fail
	case version != s.version:
		return 0, fmt.Errorf("swap: %w", ErrMoved)
	}
	s.text, s.version = text, s.version+1
	return s.version, nil
}

func (s *fake) Refused(err error) bool { return errors.Is(err, errAnswer) }

// Only an answer says that nothing was done; what has none is not sent again.
func TestOutcome(t *testing.T) {
	for fail, unknown := range map[error]bool{errAnswer: false, errNetwork: true, context.Canceled: true} {
		is := func(what string, sent int, err error) {
			t.Helper()
			if !errors.Is(err, fail) || strings.Contains(err.Error(), "unknown whether") != unknown || sent != 1 {
				t.Errorf("%s: got %v after %d requests, want one, and that its outcome is unknown: %v", what, err, sent, unknown)
			}
		}
		s := &fake{fail: fail}
		err := New("fake", "a", s, nil).Advance(t.Context(), "k", 5)
		is("Advance", s.swaps, err)
		s = &fake{fail: fail}
		err = New("fake", "a", s, nil).Reset(t.Context(), "k")
		is("Reset", s.swaps, err)
		calls := 0
		err = New("fake", "a", &fake{}, nil).Write(t.Context(), "k", 5, func(int64) error { calls++; return fail })
		is("Write", calls, err)
	}
}

// A race that is lost each time ends, and is no decision about the token.
func TestLostRacesEnd(t *testing.T) {
	s := &fake{}
	f := New("fake", "a", s, nil)
	calls := 0
	err := f.Write(t.Context(), "k", 5, func(int64) error { calls++; return ErrMoved })
	if !errors.Is(err, ErrMoved) || errors.Is(err, distlock.ErrStale) || calls != tries || s.reads != tries {
		t.Errorf("got %v after %d calls and %d reads", err, calls, s.reads)
	}
	if strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v, want that nothing was written", err)
	}
}

// A version is remembered for its token alone, and for a bounded number of keys.
func TestRecent(t *testing.T) {
	s := &fake{}
	f := New("fake", "a", s, nil)
	write := func(token distlock.Token, reads int) {
		t.Helper()
		s.reads = 0
		err := f.Write(t.Context(), "k", token, func(version int64) error {
			if version != s.version {
				return ErrMoved
			}
			return nil
		})
		if err != nil || s.reads != reads {
			t.Errorf("a write with %v: %v after %d reads, want %d", token, err, s.reads, reads)
		}
	}
	write(5, 1)
	write(5, 0)
	write(6, 1)
	write(6, 0)
	s.version++ // behind its back
	write(6, 1)
	write(6, 0)
	for i := range maxRecent {
		f.recent.note(fmt.Sprint(i), 1, 1)
	}
	if n := len(f.recent.seen); n > maxRecent {
		t.Errorf("%d keys are remembered", n)
	}
	write(6, 1)
}
