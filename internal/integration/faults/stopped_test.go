package faults_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// Stands for: a holder that was stopped, or whose machine was, finds that it is still
// the leader until its renewer has run, and writes beside the next one; or keeps its lock
// for hours.
func TestStoppedHolderKnowsAtItsFirstInstruction(t *testing.T) {
	t.Parallel()
	forBackends(t, holderStopped, func(t *testing.T, s *service, _ cell) {
		for i := range 2 { // stopped at other points of the renewal
			untilStruck(t, func(n int) bool {
				return stopHolder(t, s, fmt.Sprintf("%s-%d-%d", keyOf(t), i, n), shortTTL/2+time.Duration(i)*shortTTL/6)
			})
		}
	})
}

// untilStruck tries again while the machine stalls so that a fault comes too late to harm
// anybody, and ends the test if that goes on.
func untilStruck(t *testing.T, try func(n int) bool) {
	t.Helper()
	for n := range 5 {
		if try(n) {
			return
		}
		t.Log("it came too late")
	}
	t.Fatal("the machine stalls so that the fault comes too late every time")
}

// stopHolder stops a holder that has held key for a while, and checks that it knows when it
// goes on. It returns false if the machine stalled so that the stop came too late.
func stopHolder(t *testing.T, s *service, key string, after time.Duration) bool {
	f, machine := s.healthy(t), watchMachine(t)
	p := processOf(t, s, f.addrs(), key)
	held := p.read(t)
	pause(after) // it has been renewed meanwhile
	p.signal(t, syscall.SIGSTOP)
	begin := time.Now()
	next := insist(t, s.locks(t, f.addrs()), key)
	in := time.Now()
	pause(time.Until(begin.Add(2 * shortTTL)))
	p.signal(t, syscall.SIGCONT)
	seen := p.read(t)
	p.end(t)
	if seen.Gap < shortTTL {
		return false
	}
	measured.takeOver(t, s.name, frozen, machine, begin, in)
	t.Logf("free after %v; %+v", in.Sub(begin), seen)
	if seen.Valid || seen.Context == "" || !seen.Lost || seen.Release == "" {
		t.Errorf("got %+v, want a lease that is lost and a context that has ended", seen)
	}
	checkFence(t, key, held.Token, next.Token())
	staysHeld(t, s, f, next)
	release(t, next)
	return true
}

// checkFence checks that a resource that the next holder has used refuses the old one.
func checkFence(t *testing.T, key string, old, next distlock.Token) {
	t.Helper()
	var f distlock.Fence
	if err := f.Advance(key, next); err != nil {
		t.Error(err)
	}
	err := f.Do(key, old, func() error { t.Error("the old holder wrote"); return nil })
	if !errors.Is(err, distlock.ErrStale) {
		t.Errorf("got %v for token %v after %v, want ErrStale", err, old, next)
	}
}

// Stands for: the lock of a process that was killed stays for ever, or until somebody
// removes it by hand.
func TestKilledHolderBlocksForOneLifetime(t *testing.T) {
	t.Parallel()
	forBackends(t, holderKilled, func(t *testing.T, s *service, _ cell) {
		for i := range 3 { // killed at other points of the renewal
			untilStruck(t, func(n int) bool {
				return killHolder(t, s, fmt.Sprintf("%s-%d-%d", keyOf(t), i, n), time.Duration(i)*shortTTL/6)
			})
		}
	})
}

// killHolder kills a holder that has held key for a while, and sees who gets it then. It
// returns false if the machine stalled so that the lease had ended before.
func killHolder(t *testing.T, s *service, key string, after time.Duration) bool {
	f, machine := s.healthy(t), watchMachine(t)
	p := processOf(t, s, f.addrs(), key)
	held := p.read(t)
	w := waitFor(t, s, f.addrs(), key)
	pause(after)
	struck := len(w.result) == 0
	p.signal(t, syscall.SIGKILL)
	begin := time.Now()
	next := w.take(t, 2*bound)
	if struck {
		measured.takeOver(t, s.name, crashed, machine, begin, time.Now())
	}
	checkFence(t, key, held.Token, next.Token())
	release(t, next)
	_ = p.cmd.Wait() // which tells that it was killed
	return struck
}

// Stands for: a waiter that was stopped finds itself granted when it goes on, by a session
// that ended meanwhile, while another has the key.
func TestStoppedWaiterIsNotGrantedInVain(t *testing.T) {
	t.Parallel()
	forBackends(t, waiterStopped, func(t *testing.T, s *service, _ cell) {
		f, key := s.healthy(t), keyOf(t)
		first := insist(t, s.locks(t, f.addrs()), key)
		p := processOf(t, s, f.addrs(), key, waitEnv+"=1")
		p.read(t)
		pause(shortTTL / 4) // it stands in the queue now, where there is one
		p.signal(t, syscall.SIGSTOP)
		release(t, first)
		next := insist(t, s.locks(t, f.addrs()), key)
		pause(2 * shortTTL)
		p.signal(t, syscall.SIGCONT)
		throughout(t, shortTTL, "only the other has the key", func() bool { return len(p.lines) == 0 && next.Valid() })
		release(t, next)
		got := p.read(t)
		p.end(t)
		if !got.Valid || got.Token <= next.Token() || got.Release != "" {
			t.Errorf("the waiter got %+v in the end, after token %v", got, next.Token())
		}
	})
}

// Stands for: a waiter that does not hear of a release, and sleeps on.
func TestReleaseLetsTheNextIn(t *testing.T) {
	t.Parallel()
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f, machine := s.healthy(t), watchMachine(t)
			locks := s.locks(t, f.addrs())
			for i := range 10 {
				l := insist(t, locks, fmt.Sprintf("%s-%d", keyOf(t), i))
				w := waitFor(t, s, f.addrs(), l.Key())
				begin := time.Now()
				release(t, l)
				next := w.take(t, bound)
				measured.takeOver(t, s.name, released, machine, begin, time.Now())
				release(t, next)
			}
		})
	}
}
