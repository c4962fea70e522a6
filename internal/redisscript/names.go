package redisscript

import "strings"

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
// brace, no name is another lock's counter, channel or the like.
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

var escaper = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
