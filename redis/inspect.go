package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect tells which grant has key, in one round trip. It asks the server that
// grants, never a replica, so the answer is as fresh as that server: one that a
// failover has replaced and that does not know it yet answers with grants that are
// no longer the present ones, and its replacement may not know the last ones. A lost
// grant is shown until its lifetime on the server is over, with its lock-delay.
//
// Waiters are the connections that listen for the key's release, and so include
// clients that have given up less than a second or so ago, and whoever else
// subscribed to the channel. They are -1 on a Cluster, where clients listen on any
// node, through a Client that is no *redis.Client, and for a user without the right
// to PUBSUB NUMSUB.
func (b *Backend) Inspect(ctx context.Context, key string) (distlock.LockInfo, error) {
	cmd, err := b.look(ctx, redisscript.Inspect, key, b.countsSubscribers())
	if redisreply.IsBroken(err) && ctx.Err() == nil { // an idle connection that the server had closed
		cmd, err = b.look(ctx, redisscript.Inspect, key, b.countsSubscribers())
	}
	if err != nil {
		return distlock.LockInfo{}, foreign(err)
	}
	return lockInfo(cmd.Val())
}

// countsSubscribers is 1 where all who wait for a key listen on the server that has
// it.
func (b *Backend) countsSubscribers() int {
	if _, ok := b.client.(*goredis.Client); ok {
		return 1
	}
	return 0
}

// lockInfo reads the answer of the inspect script.
func lockInfo(reply any) (i distlock.LockInfo, err error) {
	fields, _ := reply.([]any)
	if len(fields) != 3 {
		return i, fmt.Errorf("inspect script: unexpected reply %T", reply)
	}
	rest, _ := fields[1].(int64)
	waiters, _ := fields[2].(int64)
	i = distlock.LockInfo{Left: time.Duration(rest) * time.Millisecond, Waiters: int(waiters)}
	if rest < 0 {
		i.Left = -1 // a key without expiry, which is none that we write
	} else if fields[0] != nil {
		i.Left = max(i.Left, 1) // PTTL of the last millisecond
	}
	text, there := fields[0].(string)
	if !there || text == redisscript.Broken {
		return i, nil
	}
	v, ok := redisscript.ParseValue(text)
	if !ok || v.Token == 0 {
		return distlock.LockInfo{}, errForeign
	}
	i.Held, i.Token, i.Holder = true, distlock.Token(v.Token), v.Holder
	return i, nil
}

// Break ends the grant of key that has token t, in one round trip, on the server that
// grants. The key is deleted, or has a value that no owner matches for delay. It
// returns when the server has it, not its replicas: a failover can bring the grant
// back, and its holder's renewals then go on.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	cmd, first := b.look(ctx, redisscript.Break, key, t.String(), redisscript.Millis(delay))
	err := first
	if redisreply.IsBroken(first) && ctx.Err() == nil {
		cmd, err = b.look(ctx, redisscript.Break, key, t.String(), redisscript.Millis(delay))
	}
	if err != nil {
		return foreign(err)
	}
	switch v := cmd.Val(); {
	case v == int64(1):
		return nil
	case v == int64(2):
		return errForeign
	case first != nil: // it may have been this call's first copy that ended the grant
		return first
	case v == int64(0):
		return fmt.Errorf("%w: that grant does not have the key", distlock.ErrStale)
	default:
		return fmt.Errorf("break script: unexpected reply %T", v)
	}
}

// look runs a script on the lock of key and its channel. No session is needed, and no
// lane.
func (b *Backend) look(ctx context.Context, s *redisscript.Script, key string, args ...any) (cmd rediscall.Command, err error) {
	lock := b.lockName(key)
	for _, whole := range []bool{false, true} {
		cmd = rediscall.New(s.Words(whole, []string{lock, lock + redisscript.ChannelSuffix}, args...)...)
		err = promptly(ctx, func() error {
			_ = b.bounded.Process(ctx, cmd)
			return cmd.Err()
		})
		if !isNoScript(err) {
			break
		}
	}
	return cmd, err
}

var errForeign = fmt.Errorf("%w: another value is there", distlock.ErrForeign)

// foreign marks the answer that there is something of another type under a lock's
// name.
func foreign(err error) error {
	if redisreply.Begins(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", distlock.ErrForeign, err)
	}
	return err
}
