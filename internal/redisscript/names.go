package redisscript

import (
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/round"
)

// The names of one lock are
//
//	PREFIX{KEY}        the lock
//	PREFIX{KEY}:token  the counter of its tokens
//	PREFIX{KEY}:free   the channel of its wake-ups
//	PREFIX{KEY}:broken redlock: the owner whose grant was ended by force
//
// All hash to one Cluster slot, by the tag between the braces. In KEY, %
// is written %25, { is %7B and } is %7D: so the tag is all of KEY, different
// keys stay different, and since a lock's name ends with its only closing
// brace, no name is another lock's counter, channel or the like. Nor is it the mark of
// a redis.Fence: that ends with its own suffix.
const (
	CounterSuffix = ":token"
	ChannelSuffix = ":free"
	BrokenSuffix  = ":broken"
)

// LockName returns the name of the lock on key. Prefix has no braces.
func LockName(prefix, key string) string {
	if strings.ContainsAny(key, "{}%") {
		key = escaper.Replace(key)
	}
	return prefix + "{" + key + "}"
}

// CheckPrefix checks what the names of all keys and channels begin with.
func CheckPrefix(prefix string) error {
	if len(prefix) > 128 || strings.ContainsAny(prefix, "{}\x00") {
		return distlock.Invalid("prefix", strconv.Quote(prefix), "up to 128 bytes without braces and NUL")
	}
	return nil
}

// CounterKept is how long a counter outlives the last grant: a day, or ten TTLs if
// that is longer. Until then the server's clock has passed its value, so a counter
// that starts again from the clock is still larger.
func CounterKept(ttl time.Duration) time.Duration { return max(24*time.Hour, 10*ttl) }

// Millis rounds up to milliseconds, the server's unit.
func Millis(d time.Duration) int64 {
	return round.Up(d, time.Millisecond).Milliseconds()
}

var escaper = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
