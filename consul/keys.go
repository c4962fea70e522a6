package consul

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
)

// entryName returns the name of key's entry: the prefix and the key, with each
// byte that is no letter, no digit and none of -_. as = and two hexadecimal
// digits. A slash stays where it begins no part of its own, as does a dot that
// is not the first of a part: an agent's HTTP server would take the others for
// steps up a path, and newer ones refuse names with more than these.
func entryName(prefix, key string) string {
	var b strings.Builder
	b.WriteString(prefix)
	first := true // of a part
	for i := range len(key) {
		c := key[i]
		switch {
		case isPlain(c), (c == '.' || c == '/') && !first && i < len(key)-1:
			b.WriteByte(c)
			first = c == '/'
		default:
			fmt.Fprintf(&b, "=%02X", c)
			first = false
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// checkPrefix is the error of a prefix that names cannot begin with.
func checkPrefix(prefix string) error {
	if validPrefix(prefix) {
		return nil
	}
	return distlock.Invalid("prefix", strconv.Quote(prefix),
		"up to 128 bytes of letters, digits and -_./, without an empty part or one that begins with a dot")
}

// validPrefix reports whether names can begin with prefix as it is.
func validPrefix(prefix string) bool {
	if prefix == "" || len(prefix) > 128 {
		return false
	}
	parts := strings.Split(prefix, "/")
	for i, part := range parts {
		for j := range len(part) {
			if c := part[j]; !isPlain(c) && (c != '.' || j == 0) {
				return false
			}
		}
		if part == "" && i < len(parts)-1 {
			return false
		}
	}
	return true
}
