package redlock

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/distlock-go/distlock/internal/redisreply"
	goredis "github.com/redis/go-redis/v9"
)

// A client is what is needed of a node's client.
type client interface {
	Process(ctx context.Context, cmd goredis.Cmder) error
	Pipeline() goredis.Pipeliner
}

// pipelineBound is how long a pipeline may take. Decisions do not wait for it.
const pipelineBound = 10 * time.Second

// bounded is c with pipelineBound on its reads, where the user's has no
// time-out or a longer one: go-redis ends no read with its context. Such a copy
// has no hooks.
func bounded(c goredis.UniversalClient) client {
	plain, ok := c.(*goredis.Client)
	if !ok {
		return c
	}
	if own := plain.Options().ReadTimeout; own > 0 && own <= pipelineBound {
		return c
	}
	return plain.WithTimeout(pipelineBound)
}

// A command is sent at most once: go-redis repeats others by itself after a
// lost answer, and would then report the second outcome as the first.
type command struct{ *goredis.Cmd }

// NoRetry tells go-redis so.
func (command) NoRetry() bool { return true }

// SetErr is how go-redis sets an error: here owners are kept out of it. What
// Process returns is the error as it was.
func (c command) SetErr(err error) { c.Cmd.SetErr(redisreply.Bare(err)) }

func newCommand(words ...any) command {
	return command{goredis.NewCmd(context.Background(), words...)}
}

// exec sends cmds in one round trip. Errors are in the commands.
func exec(ctx context.Context, c client, cmds []command) {
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

// isAnswer reports whether err is the server's own, rather than of the way there.
func isAnswer(err error) bool {
	var answer goredis.Error
	return errors.As(err, &answer)
}

// begins reports whether err is the server's and begins with one of these.
func begins(err error, prefixes ...string) bool {
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

// isUnsent reports whether err says that nothing has left this process.
func isUnsent(err error) bool {
	var dial *net.OpError
	return errors.Is(err, goredis.ErrPoolTimeout) || errors.Is(err, goredis.ErrPoolExhausted) ||
		errors.Is(err, goredis.ErrClosed) || errors.As(err, &dial) && dial.Op == "dial"
}

// isBroken reports whether a connection turned out to be closed: by a server
// that was restarted, or that ends idle connections.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed)
}
