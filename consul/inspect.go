package consul

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/round"
	"github.com/distlock-go/distlock/internal/value"
	"github.com/hashicorp/consul/api"
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect reads the entry of key, by one request that a server answers once it has
// made sure that it is the leader: it is as it was at some moment during the call.
// Consul tells neither how long the holder's session has left nor who waits, nor
// whether a lock-delay goes on: then the key looks free. An entry that no session has
// locked, or whose value is none of this library, is distlock.ErrForeign.
func (b *Backend) Inspect(ctx context.Context, key string) (distlock.LockInfo, error) {
	unknown := distlock.LockInfo{Left: -1, Waiters: -1}
	entry, err := b.look(ctx, entryName(b.opts.Prefix, key))
	switch {
	case err != nil:
		return distlock.LockInfo{}, err
	case entry == nil, entry.Session != "" && string(entry.Value) == value.Broken:
		return unknown, nil
	}
	_, holder, ok := value.Parse(entry.Value)
	if !ok || entry.Session == "" {
		return distlock.LockInfo{}, errForeign
	}
	unknown.Held, unknown.Token, unknown.Holder = true, distlock.Token(entry.ModifyIndex), holder
	return unknown, nil
}

// Break deletes the holder's entry if its index is t, in one transaction. With a
// delay that has Consul begin a lock-delay of its own: the transaction locks the
// entry for a new session, which is then ended. As with any lock-delay an election
// ends it early; should the caller die in between, it begins when that session
// runs out, within twice Options.MinTTL. The holder finds its lease lost when
// its entry is next looked for: see the package's own text.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	now, err := b.Inspect(ctx, key)
	if err == nil {
		err = distlock.CheckPresent(now.Token, t)
	}
	if err != nil {
		return err
	}
	name := entryName(b.opts.Prefix, key)
	ops := []op{
		{Verb: api.KVCheckIndex, Key: name, Index: uint64(t)},
		{Verb: api.KVDelete, Key: name},
	}
	if delay > 0 {
		id, err := b.createSession(ctx, distlock.Terms{TTL: b.opts.MinTTL, LockDelay: round.Up(delay, time.Millisecond)})
		if err != nil {
			return err
		}
		defer b.endSoon(ctx, id) // which begins the delay, and lets no late copy of the transaction do anything
		ops = append(ops, op{Verb: api.KVLock, Key: name, Session: id, Value: []byte(value.Broken)})
	}
	o, err := b.txn(ctx, ops...)
	freed, err := o.freed(err)
	if err == nil && !freed {
		err = fmt.Errorf("%w: it has just ended", distlock.ErrStale)
	}
	return err
}

// endSoon ends a session of Break's. One whose end is not answered runs out.
func (b *Backend) endSoon(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookBound)
	defer cancel()
	_ = b.destroySession(ctx, id)
}
