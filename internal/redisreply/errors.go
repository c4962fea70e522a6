package redisreply

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	goredis "github.com/redis/go-redis/v9"
)

// IsAnswer reports whether err is the server's own, rather than of the way there.
func IsAnswer(err error) bool {
	var answer goredis.Error
	return errors.As(err, &answer)
}

// Begins reports whether err is the server's own and begins with one of these.
func Begins(err error, prefixes ...string) bool {
	if err == nil {
		return false // before answer is allocated
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

// IsUnsent reports whether err says that nothing has left this process.
func IsUnsent(err error) bool {
	var dial *net.OpError
	return errors.Is(err, goredis.ErrPoolTimeout) || errors.Is(err, goredis.ErrPoolExhausted) ||
		errors.Is(err, goredis.ErrClosed) || errors.As(err, &dial) && dial.Op == "dial"
}

// IsBroken reports whether a connection turned out to be closed: by a server
// that was restarted, or that ends idle connections.
func IsBroken(err error) bool {
	return err != nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed))
}
