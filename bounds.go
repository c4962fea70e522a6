package distlock

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a key and the name of a lock source may be, in bytes.
const (
	maxKeyBytes    = 512
	maxSourceBytes = 128
)

// CheckKey returns nil if key is 1 to 512 bytes of UTF-8 without NUL, and else an
// error that matches ErrInvalid. Acquire, TryAcquire and the fences check their keys
// so, but for that of package redis, whose keys are Redis's own; it is for those who
// write a fence of their own.
func CheckKey(key string) error {
	switch {
	case key == "":
		return Invalid("key", `""`, "1 to 512 bytes")
	case len(key) > maxKeyBytes:
		return Invalid("key", strconv.Itoa(len(key))+" bytes long", "1 to 512 bytes")
	case !utf8.ValidString(key):
		return Invalid("key", strconv.Quote(key), "valid UTF-8")
	case strings.IndexByte(key, 0) >= 0:
		return Invalid("key", strconv.Quote(key), "without NUL")
	}
	return nil
}

// CheckToken returns nil if t is from 1 to 2^63-1, as tokens are, and else an error
// that matches ErrInvalid. The fences check theirs so.
func CheckToken(t Token) error {
	if t == 0 || t > math.MaxInt64 {
		return Invalid("token", t, "from 1 to 9223372036854775807")
	}
	return nil
}

// CheckSource returns nil if source, the name of a lock source, is 1 to 128 bytes of
// printable ASCII, and else an error that matches ErrInvalid. The fences check theirs
// so.
func CheckSource(source string) error {
	switch {
	case source == "":
		return Invalid("source", `""`, "1 to 128 bytes")
	case len(source) > maxSourceBytes:
		return Invalid("source", strconv.Itoa(len(source))+" bytes long", "1 to 128 bytes")
	case strings.ContainsFunc(source, func(r rune) bool { return r < ' ' || r > '~' }):
		return Invalid("source", strconv.Quote(source), "printable ASCII")
	}
	return nil
}
