package redis

import (
	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	"github.com/distlock-go/distlock/internal/redisscript"
)

// acquireCommand takes r.Key. With whole, the script itself is sent along.
func (b *Backend) acquireCommand(r distlock.Request, whole bool) rediscall.Command {
	lock := b.lockName(r.Key)
	keep := redisscript.CounterKept(r.Terms.TTL)
	return rediscall.New(redisscript.Acquire.Words(whole, []string{lock, lock + redisscript.CounterSuffix},
		r.Owner.Text(), r.Holder, redisscript.Millis(r.Terms.Lifetime()), redisscript.Millis(keep))...)
}

// releaseCommand gives h up and wakes who waits: by the server's own command that
// deletes a value, if it has one and the value is known, else by the owner alone.
func (b *Backend) releaseCommand(h distlock.Hold, whole bool) (cmd rediscall.Command, native bool) {
	g, seen := h.State.(*grant)
	name := b.server.delete.Load()
	if !seen || name == nil {
		lock := b.lockName(h.Key)
		return rediscall.New(redisscript.Release.Words(whole, []string{lock, lock + redisscript.ChannelSuffix}, h.Owner.Text())...), false
	}
	keys := []string{g.lock, g.lock + redisscript.ChannelSuffix}
	if *name == redisreply.Delex {
		return rediscall.New(redisscript.ReleaseValue.Words(whole, keys, *name, "ifeq", g.value(h))...), true
	}
	return rediscall.New(redisscript.ReleaseValue.Words(whole, keys, *name, g.value(h))...), true
}

// How a hold is renewed.
const (
	byName  = iota // of the script
	byWhole        // script, sent along
	native         // SET … IFEQ
)

// renewCommand extends h. Without its value, only the script can tell.
func (b *Backend) renewCommand(h distlock.Hold, how int) rediscall.Command {
	lifetime := redisscript.Millis(h.Terms.Lifetime())
	g, seen := h.State.(*grant)
	switch {
	case !seen:
		lock := b.lockName(h.Key)
		return rediscall.New(redisscript.Renew.Words(true, []string{lock}, h.Owner.Text(), lifetime)...)
	case how == native:
		value := g.value(h)
		return rediscall.New("set", g.lock, value, "ifeq", value, "px", lifetime)
	}
	return rediscall.New(redisscript.Renew.Words(how == byWhole, []string{g.lock}, h.Owner.Text(), lifetime)...)
}
