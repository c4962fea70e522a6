package memsession_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/memsession"
)

// The whole of what a Backend must do is tested by locktest.

func TestOptions(t *testing.T) {
	for _, o := range []memsession.Options{
		{}, {Queue: true}, {Wake: true}, {Notify: true}, {Queue: true, Notify: true}, {Wake: true, Notify: true},
	} {
		s, err := memsession.New().Backend(&o).Open(t.Context(), distlock.Terms{TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		_, queue := s.(distlock.Queuer)
		_, wake := s.(distlock.Waker)
		_, notify := s.(distlock.LossNotifier)
		if got := (memsession.Options{Queue: queue, Wake: wake, Notify: notify}); got != o {
			t.Errorf("sessions can do %+v, want %+v", got, o)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

func TestSessionRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := memsession.New()
		s, terms := open(t, service.Backend(nil))
		h, err := s.TryAcquire(t.Context(), distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: terms})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(terms.TTL * 2 / 3)
		if _, err := s.(distlock.Keeper).KeepAlive(t.Context(), 0); err != nil {
			t.Errorf("KeepAlive of a session that lives: %v", err)
		}
		time.Sleep(terms.TTL * 2 / 3)
		if service.Len("k") != 1 || service.Sessions() != 1 {
			t.Error("a session that was kept alive is gone")
		}
		time.Sleep(terms.TTL)
		if service.Len("k") != 0 || service.Sessions() != 0 {
			t.Error("a session that was not kept alive is there")
		}
		_, err = s.(distlock.Keeper).KeepAlive(t.Context(), 0)
		for _, err := range []error{err, s.Release(t.Context(), h)} {
			if !errors.Is(err, distlock.ErrLost) {
				t.Errorf("of a session that has run out: got %v, want ErrLost", err)
			}
		}
	})
}

func TestKillSessionsTellsTheClient(t *testing.T) {
	b := memsession.New().Backend(&memsession.Options{Notify: true})
	s, _ := open(t, b)
	lost := make(chan distlock.Owner, 1)
	s.(distlock.LossNotifier).NotifyLoss(func(o distlock.Owner, _ error) { lost <- o })
	if n := b.KillSessions(); n != 1 {
		t.Errorf("KillSessions: got %d, want 1", n)
	}
	if o := <-lost; o != (distlock.Owner{}) {
		t.Error("told of one hold, want the whole session")
	}
}

func TestHooks(t *testing.T) {
	b := memsession.New().Backend(nil)
	s, terms := open(t, b)
	down := errors.New("down")
	fail := func(_ context.Context, op memsession.Op, _ string) error {
		if op == memsession.Acquire {
			return down
		}
		return nil
	}
	r := distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: terms}
	unknown := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: terms}
	for _, test := range []struct {
		name    string
		hooks   memsession.Hooks
		release error
	}{
		{"a lost request", memsession.Hooks{Before: fail}, distlock.ErrLost},
		{"a lost reply", memsession.Hooks{After: fail}, nil},
	} {
		b.SetHooks(test.hooks)
		if _, err := s.TryAcquire(t.Context(), r); err != down {
			t.Errorf("%s: got %v, want %v", test.name, err, down)
		}
		if err := s.Release(t.Context(), unknown); !errors.Is(err, test.release) {
			t.Errorf("Release after %s: got %v, want %v", test.name, err, test.release)
		}
	}
}

func open(t *testing.T, b *memsession.Backend) (distlock.Session, distlock.Terms) {
	t.Helper()
	terms := distlock.Terms{TTL: time.Minute}
	s, err := b.Open(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	return s, terms
}
