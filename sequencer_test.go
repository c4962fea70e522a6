package distlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/memsession"
	"github.com/distlock-go/distlock/memory"
)

func TestCheckSequencer(t *testing.T) {
	t.Parallel()
	ctx, b := t.Context(), memory.New()
	c, other := newClient(t, b), newClient(t, b)
	l := acquire(t, c, "ü/42")
	s := l.Sequencer()
	if want := "1.w7wvNDI.memory"; s != want {
		t.Errorf("got %q, want %q", s, want)
	}
	is(t, "a present grant", other.CheckSequencer(ctx, s), nil)
	for name, hooks := range map[string]memory.Hooks{
		"no request": {Before: on(memory.Inspect, netDown)}, "no reply": {After: on(memory.Inspect, netDown)},
	} {
		b.SetHooks(hooks)
		err := other.CheckSequencer(ctx, s)
		is(t, name, err, errNet)
		var e *distlock.Error
		if !errors.As(err, &e) || e.Op != "check" || e.Key != "ü/42" || errors.Is(err, distlock.ErrStale) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b.SetHooks(memory.Hooks{})
	ended, cancel := context.WithCancel(ctx)
	cancel()
	is(t, "an ended ctx", other.CheckSequencer(ended, s), context.Canceled)
	b.Expire("ü/42")
	err := other.CheckSequencer(ctx, s)
	is(t, "an expired grant", err, distlock.ErrStale)
	if want := `distlock: check "ü/42" (memory): stale token: nobody has the key`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	next := acquire(t, other, "ü/42")
	is(t, "a grant that was followed", other.CheckSequencer(ctx, s), distlock.ErrStale)
	is(t, "the present one", c.CheckSequencer(ctx, next.Sequencer()), nil)
	is(t, "Close", c.Close(ctx), nil)
	is(t, "a closed client", c.CheckSequencer(ctx, next.Sequencer()), distlock.ErrClosed)
}

func TestCheckSequencerElsewhere(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := acquire(t, newClient(t, memory.New()), "k").Sequencer()
	foreign := newClient(t, memsession.New().Backend(nil))
	err := foreign.CheckSequencer(ctx, s)
	is(t, "another backend's", err, distlock.ErrSource, distlock.ErrInvalid)
	blind := newClient(t, struct{ distlock.Backend }{memory.New()})
	is(t, "no Inspector", blind.CheckSequencer(ctx, s), errors.ErrUnsupported)
}

var badSequencers = []string{
	"", ".", "..", "1", "1.aw", "1.aw.", "0.aw.memory", "01.aw.memory", "+1.aw.memory", "9223372036854775808.aw.memory",
	"1..memory", "1.aw==.memory", "1.a w.memory", "1.aw\n.memory", "1.ax.memory", "1.AA.memory", "1._w.memory",
	" 1.aw.memory", "1.aw\r\n.memory", "1." + strings.Repeat("YWFh", 171) + ".memory", "1.aw." + strings.Repeat("x", 1024),
}

func TestBadSequencers(t *testing.T) {
	t.Parallel()
	c := newClient(t, memory.New())
	for _, s := range badSequencers {
		err := c.CheckSequencer(t.Context(), s)
		is(t, s, err, distlock.ErrInvalid)
		if err == nil || len(err.Error()) > 600 {
			t.Errorf("%.40q: got %.700v", s, err)
		}
	}
}

func FuzzSequencer(f *testing.F) {
	for _, s := range append(badSequencers, "1757.aW52b2ljZS80Mg.redis", "9223372036854775807.w7w.a.b c") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		backend, key, token, err := distlock.ParseSequencer(s)
		if err != nil {
			is(t, s, err, distlock.ErrInvalid)
		} else if again := distlock.Sequencer(backend, key, token); again != s || key == "" || token == 0 {
			t.Errorf("%q was read as %q, %q, %v, which is written %q", s, backend, key, token, again)
		}
	})
}
