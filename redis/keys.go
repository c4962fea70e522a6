package redis

import "strings"

// names are the names of one lock's keys. All three hash to one Cluster slot,
// by the tag between the first pair of braces.
type names struct {
	lock    string // PREFIX{KEY}
	counter string // PREFIX{KEY}:token
	channel string // PREFIX{KEY}:free
}

func (b *Backend) names(key string) names {
	lock := b.prefix + "{" + escape(key) + "}"
	return names{lock: lock, counter: lock + ":token", channel: lock + ":free"}
}

// escape writes key without braces, so that the tag is all of it: %7B for {,
// %7D for }, %25 for %. Different keys stay different, and since a lock's name
// ends with the only closing brace in it, no name can be another lock's
// counter or channel.
func escape(key string) string {
	if !strings.ContainsAny(key, "{}%") {
		return key
	}
	return escaper.Replace(key)
}

var escaper = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
