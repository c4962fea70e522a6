package redis

import (
	"context"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisscript"
)

// Current returns the token of the present grant of key, or 0, in one round trip.
// It asks the server that grants, never a replica, so the answer is as fresh as
// that server: one that a failover has replaced and that does not know it yet
// answers with grants that are no longer the present ones, and its replacement may
// not know the last ones. A lost grant counts as present until its lifetime on the
// server is over, with its lock-delay.
func (b *Backend) Current(ctx context.Context, key string) (distlock.Token, error) {
	cmd, err := b.current(ctx, key, false)
	if isBroken(err) && ctx.Err() == nil { // an idle connection that the server had closed
		cmd, err = b.current(ctx, key, false)
	}
	if isNoScript(err) {
		cmd, err = b.current(ctx, key, true)
	}
	if err != nil {
		return 0, err
	}
	text, err := cmd.Text()
	if err != nil || text == "0" {
		return 0, err
	}
	return distlock.ParseToken(text)
}

func (b *Backend) current(ctx context.Context, key string, whole bool) (command, error) {
	lock, _ := b.lockNames(key)
	cmd := newCommand(redisscript.Current.Words(whole, []string{lock})...)
	return cmd, promptly(ctx, func() error {
		_ = b.client.Process(ctx, cmd)
		return cmd.Err()
	})
}
