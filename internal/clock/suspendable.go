package clock

import (
	"sync/atomic"
	"time"
)

// jump is the least change between wall and monotonic clock that is looked
// into. No suspend is shorter, and two clocks that are read one after the other
// are seldom further apart.
const jump = time.Millisecond

// suspendable is a clock that asks for CLOCK_BOOTTIME only when there is
// something to learn. That is a system call, of 0.3 to 1.5 us, where time.Now is
// none; and on waking the kernel puts the time slept on the wall clock and on
// CLOCK_BOOTTIME alike. So the distance between wall and monotonic clock, which
// slewing leaves as it is, changes with every suspend, and apart from that with
// steps of the wall clock only.
//
// It is blind if the wall clock is stepped back, between two readings, by just
// the time slept, to within a millisecond.
type suspendable struct {
	now   func() (wall, mono time.Duration)
	boot  func() time.Duration
	first time.Duration // boot's reading, before mono began

	apart atomic.Int64 // wall less mono when last looked into, nanoseconds
	slept atomic.Int64 // what boot has run ahead of mono, nanoseconds
}

// newSuspendable returns a clock that began when mono was 0, after boot was
// first.
func newSuspendable(now func() (wall, mono time.Duration), boot func() time.Duration, first time.Duration) *suspendable {
	s := &suspendable{now: now, boot: boot, first: first}
	s.elapsed()
	return s
}

func (s *suspendable) elapsed() time.Duration {
	wall, mono := s.now()
	apart := wall - mono
	if d := apart - time.Duration(s.apart.Load()); d > jump || d < -jump {
		s.look(mono)
		s.apart.Store(int64(apart)) // after it: who finds this finds what was learnt, too
	}
	return mono + time.Duration(s.slept.Load())
}

// look learns how long the machine has slept. Boot is read after mono: a delay
// in between makes a lease end early, not late.
func (s *suspendable) look(mono time.Duration) {
	slept := int64(s.boot() - s.first - mono)
	for {
		old := s.slept.Load()
		if slept <= old || s.slept.CompareAndSwap(old, slept) {
			return
		}
	}
}
