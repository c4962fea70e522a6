package redis

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisreply"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

// A command is sent at most once: go-redis repeats others by itself after a
// lost answer, and would then report the second outcome as the first.
type command struct{ *goredis.Cmd }

// NoRetry tells go-redis so.
func (command) NoRetry() bool { return true }

// SetErr is how go-redis sets an error: here owners are kept out of it. What
// Process returns is the error as it was.
func (c command) SetErr(err error) { c.Cmd.SetErr(redisreply.Bare(err)) }

// wasAnswered reports whether a reply or an error was read for c.
func (c command) wasAnswered() bool { return c.Val() != nil || c.Err() != nil }

func newCommand(words ...any) command {
	return command{goredis.NewCmd(context.Background(), words...)}
}

// counterKept is how long a counter outlives the last grant, or ten TTLs if
// that is longer: until then the server's clock has passed its value, so a
// counter that starts again from the clock is still larger.
const counterKept = 24 * time.Hour

// acquireCommand takes r.Key. With whole, the script itself is sent along.
func (b *Backend) acquireCommand(r distlock.Request, whole bool) command {
	lock, counter := b.lockNames(r.Key)
	keep := max(counterKept, 10*r.Terms.TTL)
	return newCommand(redisscript.Acquire.Words(whole, []string{lock, counter},
		r.Owner.Text(), r.Holder, millis(r.Terms.Lifetime()), millis(keep))...)
}

// releaseCommand gives h up and wakes who waits: by the server's own command that
// deletes a value, if it has one and the value is known, else by the owner alone.
func (b *Backend) releaseCommand(h distlock.Hold, whole bool) (cmd command, native bool) {
	g, seen := h.State.(*grant)
	name := b.server.delete.Load()
	if !seen || name == nil {
		lock, _ := b.lockNames(h.Key)
		return newCommand(redisscript.Release.Words(whole, []string{lock, lock + channelSuffix}, h.Owner.Text())...), false
	}
	keys := []string{g.lock, g.lock + channelSuffix}
	if *name == delex {
		return newCommand(redisscript.ReleaseValue.Words(whole, keys, *name, "ifeq", g.value(h))...), true
	}
	return newCommand(redisscript.ReleaseValue.Words(whole, keys, *name, g.value(h))...), true
}

// How a hold is renewed.
const (
	byName  = iota // of the script
	byWhole        // script, sent along
	native         // SET … IFEQ
)

// renewCommand extends h. Without its value, only the script can tell.
func (b *Backend) renewCommand(h distlock.Hold, how int) command {
	lifetime := millis(h.Terms.Lifetime())
	g, seen := h.State.(*grant)
	switch {
	case !seen:
		lock, _ := b.lockNames(h.Key)
		return newCommand(redisscript.Renew.Words(true, []string{lock}, h.Owner.Text(), lifetime)...)
	case how == native:
		value := g.value(h)
		return newCommand("set", g.lock, value, "ifeq", value, "px", lifetime)
	}
	return newCommand(redisscript.Renew.Words(how == byWhole, []string{g.lock}, h.Owner.Text(), lifetime)...)
}

// millis rounds up to milliseconds, the server's unit.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
