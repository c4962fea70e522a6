package distlock_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

func TestBounds(t *testing.T) {
	for _, test := range []struct {
		name        string
		s           string
		key, source error
	}{
		{"nothing", "", distlock.ErrInvalid, distlock.ErrInvalid},
		{"text", "invoice/42 ~", nil, nil},
		{"the longest source", strings.Repeat("s", 128), nil, nil},
		{"a longer one", strings.Repeat("s", 129), nil, distlock.ErrInvalid},
		{"the longest key", strings.Repeat("k", 512), nil, distlock.ErrInvalid},
		{"a longer one", strings.Repeat("k", 513), distlock.ErrInvalid, distlock.ErrInvalid},
		{"longer in bytes only", strings.Repeat("é", 257), distlock.ErrInvalid, distlock.ErrInvalid},
		{"beyond ASCII", "é", nil, distlock.ErrInvalid},
		{"NUL", "a\x00", distlock.ErrInvalid, distlock.ErrInvalid},
		{"a control character", "a\n", nil, distlock.ErrInvalid},
		{"DEL", "\x7f", nil, distlock.ErrInvalid},
		{"no UTF-8", "a\xff", distlock.ErrInvalid, distlock.ErrInvalid},
	} {
		is(t, test.name+" as a key", distlock.CheckKey(test.s), test.key)
		is(t, test.name+" as a source", distlock.CheckSource(test.s), test.source)
	}
}

func TestTokenBounds(t *testing.T) {
	for token, want := range map[distlock.Token]error{
		0: distlock.ErrInvalid, 1: nil, math.MaxInt64: nil, math.MaxInt64 + 1: distlock.ErrInvalid,
		math.MaxUint64: distlock.ErrInvalid,
	} {
		is(t, token.String(), distlock.CheckToken(token), want)
	}
}

func TestTermsAreRoundedUp(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, test := range []struct{ d, unit, want time.Duration }{
		{0, ms, 0},
		{1, ms, ms},
		{ms - 1, ms, ms},
		{ms, ms, ms},
		{ms + 1, ms, 2 * ms},
		{1500 * ms, s, 2 * s},
		{24 * time.Hour, s, 24 * time.Hour},
		{distlock.UnsetLockDelay, ms, distlock.UnsetLockDelay},
	} {
		got := distlock.Terms{TTL: test.d, LockDelay: test.d}.RoundUp(test.unit)
		if want := (distlock.Terms{TTL: test.want, LockDelay: test.want}); got != want {
			t.Errorf("%v in units of %v: got %v, want %v", test.d, test.unit, got, want)
		}
	}
}

func TestPresent(t *testing.T) {
	for _, test := range []struct {
		present, token distlock.Token
		want           error
	}{{5, 5, nil}, {5, 4, distlock.ErrStale}, {5, 6, distlock.ErrStale}, {0, 5, distlock.ErrStale}} {
		is(t, test.present.String()+" and "+test.token.String(), distlock.CheckPresent(test.present, test.token), test.want)
	}
}
