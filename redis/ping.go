package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

// pingTTL is the lifetime of what Ping writes.
const pingTTL = time.Second

// Ping asks the server what it is, and then does all that a client may come to
// do, on names that nobody else knows: each command that the package's
// documentation lists, a lock that is taken, refused, renewed and released, and
// a subscription. So a user without one of the rights, a read-only replica and a
// server without memory say so. An error is the server's own, with the command
// or the step before it.
//
// On a Cluster it tries the nodes that these names happen to lie on. What it
// writes it deletes; where it is cut short, that is left to the server for at
// most 24 h.
func (b *Backend) Ping(ctx context.Context) error {
	if err := b.ask(ctx); err != nil {
		return err
	}
	s := newSession(b)
	p := &probe{backend: b, session: s, key: "ping " + distlock.NewOwner().Text()}
	err := p.run(ctx)
	if closed := s.Close(ctx); err == nil {
		err = closed
	}
	return err
}

// A probe is what Ping does on one key.
type probe struct {
	backend *Backend
	session *session
	key     string
}

func (p *probe) run(ctx context.Context) error {
	err := promptly(ctx, func() error { return p.commands(ctx) })
	if err == nil {
		err = p.lock(ctx)
	}
	if err == nil {
		err = p.listen(ctx)
	}
	return err
}

// commands sends each command by itself: a script does not tell in the name of
// which it was refused.
func (p *probe) commands(ctx context.Context) error {
	lock := p.backend.lockName(p.key)
	counter := lock + redisscript.CounterSuffix
	cmds := []rediscall.Command{
		rediscall.New("ping"),
		rediscall.New("time"),
		rediscall.New("get", lock),
		rediscall.New("pttl", lock),

		rediscall.New("set", counter, "0", "px", redisscript.Millis(pingTTL)),
		rediscall.New("pexpire", counter, redisscript.Millis(pingTTL)),
		rediscall.New("del", counter),
		rediscall.New("eval", "return 1", 1, lock),
		rediscall.New("publish", lock+redisscript.ChannelSuffix, ""),
	}
	rediscall.Exec(ctx, p.backend.bounded, cmds)
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && !errors.Is(err, goredis.Nil) {
			return fmt.Errorf("%s: %w", strings.ToUpper(cmd.Name()), err)
		}
	}
	return nil
}

// lock takes a lock, is refused it as another owner, and renews and releases it.
func (p *probe) lock(ctx context.Context) error {
	r := distlock.Request{Key: p.key, Owner: distlock.NewOwner(), Terms: distlock.Terms{TTL: pingTTL}}
	h, err := p.session.TryAcquire(ctx, r)
	defer p.cleanUp(r)
	if err != nil {
		return fmt.Errorf("take a lock: %w", err)
	}
	if err := p.session.Renew(ctx, []distlock.Hold{h})[0]; err != nil {
		return fmt.Errorf("renew a lock: %w", err)
	}
	other := r
	other.Owner = distlock.NewOwner()
	if _, err := p.session.TryAcquire(ctx, other); !errors.Is(err, distlock.ErrHeld) {
		return fmt.Errorf("be refused a lock that is held: %w", err)
	}
	if err := p.session.Release(ctx, h); err != nil {
		return fmt.Errorf("release a lock: %w", err)
	}
	return nil
}

// cleanUp deletes what a probe has written, behind the call, for which Close
// waits.
func (p *probe) cleanUp(r distlock.Request) {
	lock := p.backend.lockName(r.Key)
	p.session.lane.active.Start(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rediscall.Bound)
		defer cancel()
		_ = p.backend.bounded.Process(ctx, rediscall.New("del", lock, lock+redisscript.CounterSuffix)) // expires otherwise
	})
}

// listen subscribes to a channel, and takes that back.
func (p *probe) listen(ctx context.Context) error {
	channel := p.session.channel(p.key)
	sub := p.backend.client.Subscribe(ctx, channel)
	defer sub.Close() // ends a Receive that ctx has left behind
	return promptly(ctx, func() error {
		if _, err := sub.Receive(ctx); err != nil {
			return fmt.Errorf("SUBSCRIBE: %w", err)
		}
		err := sub.Unsubscribe(ctx, channel)
		if err == nil {
			_, err = sub.Receive(ctx)
		}
		if err != nil {
			return fmt.Errorf("UNSUBSCRIBE: %w", err)
		}
		return nil
	})
}
