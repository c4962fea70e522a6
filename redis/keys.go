package redis

import "strings"

// The names of one lock are
//
//	PREFIX{KEY}        the lock
//	PREFIX{KEY}:token  the counter of its tokens
//	PREFIX{KEY}:free   the channel of its wake-ups
//
// All three hash to one Cluster slot, by the tag between the braces. In KEY, %
// is written %25, { is %7B and } is %7D: so the tag is all of KEY, different
// keys stay different, and since a lock's name ends with its only closing
// brace, no name is another lock's counter or channel. Nor is it the mark of a
// Fence: that ends with its own suffix.
const (
	counterSuffix = ":token"
	channelSuffix = ":free"
	markSuffix    = ":mark"
)

// lockNames returns the names of the lock on key and of its counter.
func (b *Backend) lockNames(key string) (lock, counter string) {
	counter = b.prefix + "{" + escape(key) + "}" + counterSuffix
	return counter[:len(counter)-len(counterSuffix)], counter
}

func escape(key string) string {
	if !strings.ContainsAny(key, "{}%") {
		return key
	}
	return escaper.Replace(key)
}

var escaper = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
