// Package redisreply reads what Redis and Valkey answer.
package redisreply

import (
	"errors"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// Bare returns err without the arguments of the command, which a server repeats
// when it does not know the command: the owner of a lock may be among them. All
// other errors it returns as they are.
func Bare(err error) error {
	if err == nil {
		return nil
	}
	var answer goredis.Error
	if !errors.As(err, &answer) {
		return err
	}
	text, _, repeats := strings.Cut(err.Error(), ", with args")
	if !repeats {
		return err
	}
	return bare(text)
}

// bare is a server's error in part. It does not wrap the whole of it.
type bare string

func (b bare) Error() string { return string(b) }

// RedisError makes it a goredis.Error.
func (bare) RedisError() {}
