package redis

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// server is what the server is known to understand. What it turns out not to
// understand after all, say after a failover to an older version, is switched
// off for good, and scripts do the work.
type server struct {
	known atomic.Bool
	// delete is the name of the command that deletes a key if it has a value:
	// DELEX … IFEQ from Redis 8.4, DELIFEQ from Valkey 9; nil is neither.
	delete atomic.Pointer[string]
	// setIfEq: SET … IFEQ, from Redis 8.4 and Valkey 8.1.
	setIfEq atomic.Bool
}

var delex, delifeq = "delex", "delifeq"

// The oldest server: SET with both NX and GET is from 7.0.
const oldestMajor, oldestMinor = 7, 0

// ask reads the server's version. Who may not ask gets along with scripts.
func (b *Backend) ask(ctx context.Context) error {
	cmd := newCommand("info", "server")
	err := promptly(ctx, func() error { return b.bounded.Process(ctx, cmd) })
	if isBroken(err) { // an idle connection that the server had closed
		cmd = newCommand("info", "server")
		err = promptly(ctx, func() error { return b.bounded.Process(ctx, cmd) })
	}
	if isAnswer(err, "NOPERM", "ERR unknown command") {
		b.server.known.Store(true)
		return nil
	}
	if err != nil {
		return err
	}
	text, err := cmd.Text()
	if err != nil {
		return err
	}
	return b.server.learn(text)
}

// learn takes in the answer to INFO server.
func (s *server) learn(info string) error {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	redis := fields["redis_version"] // Valkey gives the version of Redis that it is compatible with
	if redis != "" && !atLeast(redis, oldestMajor, oldestMinor) {
		return distlock.Invalid("server version", redis, "7.0 or later")
	}
	s.delete.Store(nil)
	if v, ok := fields["valkey_version"]; ok {
		s.setIfEq.Store(atLeast(v, 8, 1))
		if atLeast(v, 9, 0) {
			s.delete.Store(&delifeq)
		}
	} else {
		s.setIfEq.Store(atLeast(redis, 8, 4))
		if atLeast(redis, 8, 4) {
			s.delete.Store(&delex)
		}
	}
	s.known.Store(true)
	return nil
}

// atLeast reports whether version, such as 8.6.3, is major.minor or later.
func atLeast(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	x, errX := strconv.Atoi(first)
	y, errY := strconv.Atoi(second)
	return errX == nil && errY == nil && (x > major || x == major && y >= minor)
}
