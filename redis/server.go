package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
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

// ask reads the server's version.
func (b *Backend) ask(ctx context.Context) error {
	cmd := goredis.NewCmd(ctx, "info", "server")
	if err := promptly(ctx, func() error { return b.client.Process(ctx, cmd) }); err != nil {
		return err
	}
	text, err := cmd.Text()
	if err != nil {
		return err
	}
	b.server.learn(text)
	return nil
}

// learn takes in the answer to INFO server.
func (s *server) learn(info string) {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	s.delete.Store(nil)
	if v, ok := fields["valkey_version"]; ok {
		s.setIfEq.Store(atLeast(v, 8, 1))
		if atLeast(v, 9, 0) {
			s.delete.Store(&delifeq)
		}
	} else {
		v := fields["redis_version"]
		s.setIfEq.Store(atLeast(v, 8, 4))
		if atLeast(v, 8, 4) {
			s.delete.Store(&delex)
		}
	}
	s.known.Store(true)
}

// atLeast reports whether version, such as 8.6.3, is major.minor or later.
func atLeast(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	x, errX := strconv.Atoi(first)
	y, errY := strconv.Atoi(second)
	return errX == nil && errY == nil && (x > major || x == major && y >= minor)
}

// isUnknown reports whether the server does not understand a command or an
// argument of it.
func isUnknown(err error) bool {
	return hasPrefix(err, "ERR unknown command", "ERR syntax error", "ERR wrong number of arguments")
}

// isNoScript reports whether the server has not seen a script, or has
// forgotten it in a restart.
func isNoScript(err error) bool { return hasPrefix(err, "NOSCRIPT") }

func hasPrefix(err error, prefixes ...string) bool {
	var answer goredis.Error
	if !errors.As(err, &answer) {
		return false
	}
	for _, p := range prefixes {
		if strings.HasPrefix(answer.Error(), p) {
			return true
		}
	}
	return false
}
