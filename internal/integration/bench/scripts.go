package main

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

// counterKept is as long as the library keeps a counter.
const counterKept = 24 * time.Hour

// scriptsOnce does what once does by the lock's two scripts alone, on the user's client:
// no waiting, no renewal, no sharing of round trips. What it costs over the floor is the
// server's part of a token and of a wake-up, which no client can save.
func (p *process) scriptsOnce(ctx context.Context, key string, g *guard) error {
	// To an owner that has the key already the script would grant it again.
	owner := newFloorOwner()
	names := []string{key, key + redisscript.CounterSuffix}
	var token string
	for token == "" { // as long as another has it, the reply is a number
		reply, err := p.script(ctx, redisscript.Acquire, names,
			owner, "", floorTTL.Milliseconds(), counterKept.Milliseconds()).Result()
		if err != nil {
			return err
		}
		token, _ = reply.(string)
	}
	t, err := distlock.ParseToken(token)
	if err != nil {
		return err
	}
	err = errors.Join(g.enter(t), g.leave())
	names[1] = key + redisscript.ChannelSuffix
	n, rerr := p.script(ctx, redisscript.ReleaseValue, names, "delex", "ifeq", owner+" "+token+" ").Int()
	if rerr == nil && n != 1 {
		rerr = errGone
	}
	return errors.Join(err, rerr)
}

// setInScript is the floor's SET, in a script.
var setInScript = redisscript.New(`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`)

// setInScriptOnce does what floorOnce does, with its SET in a script: what it costs over
// the floor is what any script costs.
func (p *process) setInScriptOnce(ctx context.Context, key string, g *guard) error {
	owner := newFloorOwner()
	for {
		err := p.script(ctx, setInScript, []string{key}, owner, floorTTL.Milliseconds()).Err()
		if errors.Is(err, goredis.Nil) {
			continue // another has it
		}
		if err != nil {
			return err
		}
		return errors.Join(g.enter(0), g.leave(), floorRelease(ctx, p.rdb, key, owner))
	}
}

func (p *process) script(ctx context.Context, s *redisscript.Script, keys []string, args ...any) *goredis.Cmd {
	c := goredis.NewCmd(ctx, s.Words(false, keys, args...)...)
	_ = p.rdb.Process(ctx, c)
	if goredis.HasErrorPrefix(c.Err(), "NOSCRIPT") {
		c = goredis.NewCmd(ctx, s.Words(true, keys, args...)...)
		_ = p.rdb.Process(ctx, c)
	}
	return c
}
