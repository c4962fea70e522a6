package history

import (
	"fmt"
	"math"
	"time"

	"github.com/distlock-go/distlock"
	"golang.org/x/sys/unix"
)

// An Instant is a time of CLOCK_MONOTONIC in nanoseconds, the same in all processes of a
// machine.
type Instant int64

// Never is when a call returned that never did.
const Never Instant = math.MaxInt64

// Now returns the present time.
func Now() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // the clock is always there
	}
	return Instant(ts.Nano())
}

// Until returns the time d from now, and none that is later: see [Look].
func Until(t time.Time) Instant {
	now := Now() // before the other clock is read
	return now + Instant(time.Until(t))
}

// A Kind is what is called.
type Kind string

const (
	// Acquire asks for a key. If it is Done it has a Token and a Deadline.
	Acquire Kind = "acquire"
	// Look is a look at a lease: it was valid, and its Deadline was this.
	Look Kind = "look"
	// Release gives a lease up.
	Release Kind = "release"
	// Enter is a holder's first use of the resource: it raises the mark to Token, and
	// then reads Value.
	Enter Kind = "enter"
	// Write replaces Base, which the holder has read, by Value.
	Write Kind = "write"
	// Read reads Value, past the fence.
	Read Kind = "read"
)

// An Outcome is what a call came to, as far as the caller knows.
type Outcome string

const (
	Unknown Outcome = ""        // it may have been carried out, or may be later, or never
	Done    Outcome = "done"    // granted, released, accepted
	Refused Outcome = "refused" // not granted, lost before the release, stale
)

// An Op is one call.
type Op struct {
	Process string
	// Number tells the calls of a process apart.
	Number  int
	Kind    Kind
	Key     string
	Call    Instant // not after the call began
	Return  Instant // not before it returned; Never if it did not
	Outcome Outcome
	// Lease is the Number of the Acquire that a Look or Release is about.
	Lease int
	// Token is the grant's, also where the resource is used.
	Token distlock.Token
	// Deadline is not after the lease's own.
	Deadline Instant
	// Value and Base name contents of the resource. No two writes have the same Value;
	// "" is what is there at first.
	Value, Base string
}

// String tells the call in one line.
func (o Op) String() string {
	s := fmt.Sprintf("%s#%d %s", o.Process, o.Number, o.Kind)
	if o.Token != 0 {
		s += fmt.Sprintf(" with token %v", o.Token)
	}
	if o.Kind == Write {
		s += fmt.Sprintf(" of %q over %q", o.Value, o.Base)
	} else if o.Value != "" {
		s += fmt.Sprintf(" of %q", o.Value)
	}
	s += fmt.Sprintf(" [%d, ", o.Call)
	if o.Return == Never {
		return s + "never]"
	}
	return s + fmt.Sprintf("%d]", o.Return)
}

// accepted reports whether o used the resource and was let in.
func (o *Op) accepted() bool { return o.usesFence() && o.Outcome == Done }

func (o *Op) usesFence() bool { return o.Kind == Enter || o.Kind == Write }
