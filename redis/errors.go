package redis

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

// certain marks the errors after which nothing was done and nothing will be: the
// server's own answers, and requests that never left the process.
func certain(err error) error {
	var answer goredis.Error
	var dial *net.OpError
	switch {
	case errors.Is(err, goredis.Nil):
		return err
	case errors.As(err, &answer),
		errors.Is(err, goredis.ErrPoolTimeout), errors.Is(err, goredis.ErrPoolExhausted),
		errors.Is(err, goredis.ErrClosed),
		errors.As(err, &dial) && dial.Op == "dial":
		return distlock.Refused(err)
	}
	return err
}

// isBroken reports whether a connection turned out to be closed: by a server
// that was restarted, or that ends idle connections.
func isBroken(err error) bool {
	return err != nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed))
}

// isTimeout reports whether the answer was waited for in vain.
func isTimeout(err error) bool {
	if err == nil {
		return false
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// gone marks the answer that there is something of another type under a lock's
// name, where its owner meant to renew or release it: the lock is not there.
// DELEX has words of its own for it.
func gone(err error) error {
	if isAnswer(err, "WRONGTYPE", "ERR Key should be of string type") {
		return fmt.Errorf("%w: %w", distlock.ErrLost, err)
	}
	return err
}

// isUnknown reports whether the server does not understand a command or an
// argument of it. The last two are about a command in a script, from Redis 7 and
// before it.
func isUnknown(err error) bool {
	return isAnswer(err, "ERR unknown command", "ERR syntax error", "ERR wrong number of arguments",
		"ERR Unknown ", "ERR Error running script")
}

// isForbidden reports whether the user may not run a command that is in a script.
func isForbidden(err error) bool { return isAnswer(err, "ERR ACL failure in script", "NOPERM") }

// isNoScript reports whether the server has not seen a script, or has
// forgotten it in a restart.
func isNoScript(err error) bool { return isAnswer(err, "NOSCRIPT") }

// isAnswer reports whether err is the server's and begins with one of these.
func isAnswer(err error, prefixes ...string) bool {
	if err == nil {
		return false
	}
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
