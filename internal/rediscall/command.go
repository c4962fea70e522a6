// Package rediscall sends commands to Redis and Valkey.
package rediscall

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/internal/redisreply"
	goredis "github.com/redis/go-redis/v9"
)

// A Command is sent at most once: go-redis repeats others by itself after a
// lost answer, and would then report the second outcome as the first.
type Command struct{ *goredis.Cmd }

// New returns the command of these words.
func New(words ...any) Command {
	return Command{goredis.NewCmd(context.Background(), words...)}
}

// NoRetry tells go-redis so.
func (Command) NoRetry() bool { return true }

// SetErr is how go-redis sets an error: here owners are kept out of it. What
// Process returns is the error as it was.
func (c Command) SetErr(err error) { c.Cmd.SetErr(redisreply.Bare(err)) }

// A Client is what is needed of a go-redis client.
type Client interface {
	Process(ctx context.Context, cmd goredis.Cmder) error
	Pipeline() goredis.Pipeliner
}

// Exec sends cmds in one round trip. Errors are in the commands.
func Exec(ctx context.Context, c Client, cmds []Command) {
	if len(cmds) == 1 {
		_ = c.Process(ctx, cmds[0])
		return
	}
	p := c.Pipeline()
	for _, cmd := range cmds {
		_ = p.Process(ctx, cmd) // queues it
	}
	_, err := p.Exec(ctx)
	if err == nil {
		return
	}
	for _, cmd := range cmds { // one that was never reached has no error of its own
		if cmd.Val() == nil && cmd.Err() == nil {
			cmd.SetErr(err)
		}
	}
}

// Bound is how long a round trip may take. Callers that have a time of their own do
// not wait for it.
const Bound = 10 * time.Second

// Bounded is c with Bound on its reads and writes, where the user's has no time-out on
// reads or a longer one: go-redis ends no read with its context, and one on a dead
// connection would keep its goroutine and its connection for ever. Such a copy has no
// hooks.
func Bounded(c *goredis.Client) *goredis.Client {
	if own := c.Options().ReadTimeout; own > 0 && own <= Bound {
		return c
	}
	return c.WithTimeout(Bound)
}
