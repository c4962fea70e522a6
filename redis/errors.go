package redis

import (
	"errors"
	"fmt"
	"net"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisreply"
	goredis "github.com/redis/go-redis/v9"
)

// certain marks the errors after which nothing was done and nothing will be: the
// server's own answers, and requests that never left the process.
func certain(err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, goredis.Nil) && (redisreply.IsAnswer(err) || redisreply.IsUnsent(err)) {
		return distlock.Refused(err)
	}
	return err
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
	if redisreply.Begins(err, "WRONGTYPE", "ERR Key should be of string type") {
		return fmt.Errorf("%w: %w", distlock.ErrLost, err)
	}
	return err
}

// isUnknown reports whether the server does not understand a command or an
// argument of it. The last two are about a command in a script, from Redis 7 and
// before it.
func isUnknown(err error) bool {
	return redisreply.Begins(err, "ERR unknown command", "ERR syntax error", "ERR wrong number of arguments",
		"ERR Unknown ", "ERR Error running script")
}

// isForbidden reports whether the user may not run a command that is in a script.
func isForbidden(err error) bool {
	return redisreply.Begins(err, "ERR ACL failure in script", "NOPERM")
}

// isNoScript reports whether the server has not seen a script, or has
// forgotten it in a restart.
func isNoScript(err error) bool { return redisreply.Begins(err, "NOSCRIPT") }
