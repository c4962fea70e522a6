package clock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// A machine can sleep, and its wall clock can be stepped.
type machine struct {
	mono, slept, step time.Duration
	asked             int // for CLOCK_BOOTTIME
}

const (
	epoch  = 20000 * 24 * time.Hour // of the wall clock
	booted = 5 * time.Hour          // of CLOCK_BOOTTIME
)

func (m *machine) clock() *suspendable {
	now := func() (wall, mono time.Duration) { return epoch + m.mono + m.slept + m.step, m.mono }
	boot := func() time.Duration {
		m.asked++
		return booted + m.mono + m.slept
	}
	return newSuspendable(now, boot, booted)
}

func TestTimeGoesOnInSuspendWhateverTheWallClockDoes(t *testing.T) {
	var m machine
	c := m.clock()
	for i := range 10000 {
		d := time.Duration(rand.Int64N(int64(time.Minute)))
		switch rand.N(4) {
		case 0:
			m.slept += d
		case 1:
			m.step += d
		case 2:
			m.step -= d
		}
		m.mono += d / 7
		if got, want := c.elapsed(), m.mono+m.slept; got > want || got < want-jump {
			t.Fatalf("reading %d: got %v, want %v", i, got, want)
		}
	}
}

func TestBoottimeIsAskedForOnlyWhenTheWallClockJumped(t *testing.T) {
	var m machine
	c := m.clock()
	m.asked = 0
	for range 1000 {
		m.mono += time.Hour
		c.elapsed()
	}
	if m.asked != 0 {
		t.Errorf("asked %d times though nothing happened", m.asked)
	}
	m.step -= time.Second
	for range 1000 {
		c.elapsed()
	}
	if m.asked != 1 {
		t.Errorf("asked %d times after one step, want 1", m.asked)
	}
}

// A step back of just the time slept is the one thing that hides it.
func TestAStepBackThatIsNotTheTimeSleptHidesNothing(t *testing.T) {
	for _, off := range []time.Duration{2 * jump, -2 * jump} {
		var m machine
		c := m.clock()
		m.slept += time.Hour
		m.step -= time.Hour + off
		if got := c.elapsed(); got != time.Hour {
			t.Errorf("off by %v: got %v, want 1h", off, got)
		}
	}
}

// Readings of several goroutines never miss what another one has learnt.
func TestSuspendIsSeenByAllAtOnce(t *testing.T) {
	var (
		mu sync.Mutex
		m  machine
	)
	now := func() (wall, mono time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		m.mono += time.Microsecond
		return epoch + m.mono + m.slept, m.mono
	}
	boot := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return booted + m.mono + m.slept
	}
	c := newSuspendable(now, boot, booted)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5000 {
				mu.Lock()
				m.slept += 2 * jump
				least := m.mono + m.slept
				mu.Unlock()
				if got := c.elapsed(); got < least {
					t.Errorf("got %v after at least %v had passed", got, least)
					return
				}
			}
		})
	}
	all.Wait()
}
