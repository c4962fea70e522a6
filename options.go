package distlock

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock/internal/clock"
)

// DefaultTTL is the TTL of leases where WithTTL says nothing.
const DefaultTTL = 30 * time.Second

const maxHolderBytes = 256

// An Option changes a default of a Client when given to New, or one lease when
// given to Acquire, TryAcquire or Do. An option that belongs to New only is
// ErrInvalid in a call.
type Option struct {
	name    string
	newOnly bool
	apply   func(*settings) error
}

// settings are the options in force for a client or for a call.
type settings struct {
	asked   Terms // as the user put them
	terms   Terms // as the backend will keep them
	renew   bool
	maxHold time.Duration // 0: no bound
	minHold time.Duration // 0: none
	holder  string
	warn    func(*Lease) // nil: nobody wants to know
	fencing Fencing
	trace   Trace
	clock   clock.Clock
}

// apply puts opts in force, for New or for a call.
func (s *settings) apply(opts []Option, inCall bool) error {
	for _, o := range opts {
		switch {
		case o.apply == nil:
			return Invalid("option", "zero", "one made by this package")
		case inCall && o.newOnly:
			return Invalid("option", o.name, "one for calls: this one is for New only")
		}
		if err := o.apply(s); err != nil {
			return err
		}
	}
	return nil
}

// WithTTL sets how long a lease stays valid without a successful renewal.
// Default 30 s. The backend says its bounds; a TTL outside of them is
// ErrInvalid. Services that count in seconds get it rounded up.
func WithTTL(d time.Duration) Option {
	return Option{name: "WithTTL", apply: func(s *settings) error { s.asked.TTL = d; return nil }}
}

// WithLockDelay sets for how long nobody gets a key after its holder was lost
// (crashed, cut off, frozen), and only then: a release frees it at once. It
// gives a write that the dead holder sent before a time to arrive or to die.
// Default 0, unless the backend says otherwise. It postpones every take-over by as much.
func WithLockDelay(d time.Duration) Option {
	return Option{name: "WithLockDelay", apply: func(s *settings) error {
		if d < 0 {
			return Invalid("lock-delay", d, "0 or more")
		}
		s.asked.LockDelay = d
		return nil
	}}
}

// WithoutRenewal makes a lease that ends one TTL after its grant at the latest.
func WithoutRenewal() Option {
	return Option{name: "WithoutRenewal", apply: func(s *settings) error { s.renew = false; return nil }}
}

// WithMaxHold bounds how long a lease can last: no renewal extends it past
// grant + d, and then it is lost. It keeps a holder that hangs from keeping
// the key for ever.
func WithMaxHold(d time.Duration) Option {
	return Option{name: "WithMaxHold", apply: func(s *settings) error {
		if d <= 0 {
			return Invalid("max-hold", d, "more than 0")
		}
		s.maxHold = d
		return nil
	}}
}

// WithHolder sets the text that is shown to whoever inspects the lock, by
// Client.Inspect or in the service itself: up to 256 bytes of UTF-8 without control
// characters. Default: host name and process id, as in "web-3/4711". An empty text
// shows nothing.
func WithHolder(text string) Option {
	return Option{name: "WithHolder", apply: func(s *settings) error {
		if len(text) > maxHolderBytes || !utf8.ValidString(text) || hasControl(text) {
			return Invalid("holder", strconv.Quote(text), "up to 256 bytes of UTF-8 without control characters")
		}
		s.holder = text
		return nil
	}}
}

// RequireFencing makes New fail with ErrNoFencing where the backend's tokens
// are worth less than level. For New only.
func RequireFencing(level Fencing) Option {
	return Option{name: "RequireFencing", newOnly: true, apply: func(s *settings) error {
		if level < FencingNone || level > FencingDurable {
			return Invalid("fencing level", level, "FencingNone, FencingBestEffort or FencingDurable")
		}
		s.fencing = level
		return nil
	}}
}

// WithTrace has t called at what happens to locks. For New only. A nil t
// traces nothing.
func WithTrace(t *Trace) Option {
	return Option{name: "WithTrace", newOnly: true, apply: func(s *settings) error {
		if t != nil {
			s.trace = *t
		}
		return nil
	}}
}

func hasControl(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return true
		}
	}
	return false
}

func defaults() settings {
	return settings{asked: Terms{TTL: DefaultTTL, LockDelay: UnsetLockDelay}, renew: true, holder: thisProcess()}
}

// thisProcess is the holder's text where WithHolder says nothing.
var thisProcess = sync.OnceValue(func() string {
	host, _ := os.Hostname() // whoever has none is known by its pid
	return processName(host, os.Getpid())
})

// processName returns HOST/PID without what a holder's text must not have.
func processName(host string, pid int) string {
	host = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(host, ""))
	end := "/" + strconv.Itoa(pid)
	for len(host)+len(end) > maxHolderBytes {
		_, n := utf8.DecodeLastRuneInString(host)
		host = host[:len(host)-n]
	}
	return host + end
}
