package redisreply

import (
	"strconv"
	"strings"
)

// Info is what a server says of itself.
type Info struct {
	RunID string
	// Redis is its version, Valkey's that which it is compatible with; "" if it does
	// not say.
	Redis string
	// Delete is the command that deletes a key if it has a value: DELEX … IFEQ
	// from Redis 8.4, DELIFEQ from Valkey 9; "" is neither.
	Delete  string
	SetIfEq bool // SET … IFEQ: Redis 8.4, Valkey 8.1
}

// Those commands.
const Delex, Delifeq = "delex", "delifeq"

// ReadInfo reads the answer to INFO server.
func ReadInfo(text string) Info {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	i := Info{RunID: fields["run_id"], Redis: fields["redis_version"]}
	if v, ok := fields["valkey_version"]; ok {
		i.SetIfEq = atLeast(v, 8, 1)
		if atLeast(v, 9, 0) {
			i.Delete = Delifeq
		}
	} else if i.AtLeast(8, 4) {
		i.SetIfEq, i.Delete = true, Delex
	}
	return i
}

// AtLeast reports whether the server does what Redis major.minor does.
func (i Info) AtLeast(major, minor int) bool { return atLeast(i.Redis, major, minor) }

// atLeast reports whether version, such as 8.6.3, is major.minor or later.
func atLeast(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	x, errX := strconv.Atoi(first)
	y, errY := strconv.Atoi(second)
	return errX == nil && errY == nil && (x > major || x == major && y >= minor)
}
