// Package clock measures elapsed time for leases.
//
// A lease must end while its process sleeps. Go's monotonic clock stands
// still while Linux is suspended, CLOCK_BOOTTIME does not, so elapsed time is
// monotonic time and what CLOCK_BOOTTIME has run ahead of it. The wall clock's
// time is never used: a step of it, by NTP or by an operator, changes nothing
// here.
package clock

import "time"

// Clock returns the time elapsed since a start of its own. It never goes back
// and is safe for concurrent use.
type Clock func() time.Duration

// Monotonic returns a clock that reads Go's monotonic time alone. Inside a
// testing/synctest bubble this is the bubble's time.
func Monotonic() Clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// System returns a clock that goes on while the machine is suspended, where
// the operating system can tell (Linux). Elsewhere it is Monotonic. Kernels
// that answer CLOCK_BOOTTIME with CLOCK_MONOTONIC (gVisor), and virtual
// machines that are paused from outside, hide the gap from every clock; only
// the fence at the resource covers those.
func System() Clock {
	first, ok := boottime()
	if !ok {
		return Monotonic()
	}
	start := time.Now()
	now := func() (wall, mono time.Duration) {
		t := time.Now()
		return time.Duration(t.UnixNano()), t.Sub(start)
	}
	boot := func() time.Duration {
		t, _ := boottime()
		return t
	}
	return newSuspendable(now, boot, first).elapsed
}
