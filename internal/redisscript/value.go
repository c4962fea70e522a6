package redisscript

import (
	"strconv"
	"strings"
)

// Broken is the value of a lock whose grant was ended by force, while its
// lock-delay lasts. No owner's begins so.
const Broken = "broken"

// A Value is what is under the name of a lock that a grant has.
type Value struct {
	Owner  string // a secret
	Token  uint64 // may be 0
	Holder string
}

// ParseValue reads "OWNER TOKEN HOLDER", and nothing else.
func ParseValue(text string) (v Value, ok bool) {
	owner, rest, _ := strings.Cut(text, " ")
	digits, holder, found := strings.Cut(rest, " ")
	token, err := strconv.ParseUint(digits, 10, 63)
	if !found || err != nil || strconv.FormatUint(token, 10) != digits || len(owner) != 40 || strings.Trim(owner, "0123456789abcdef") != "" {
		return Value{}, false
	}
	return Value{owner, token, holder}, true
}
