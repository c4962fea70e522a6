package consul

import (
	"context"
	"errors"
	"sync"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/value"
	"github.com/hashicorp/consul/api"
)

// Release deletes the entry, and the lock with it, if it is as it was at the
// grant. Otherwise, and where the grant was never seen, it looks whose the
// entry is.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, known, other := s.account.find(h.Key, h.Owner)
	if !known && (h.State != nil || other) {
		return distlock.ErrLost // it was answered before, or another owner here has the key
	}
	freed, err := s.release(ctx, s.name(h.Key), r)
	if err != nil {
		return err
	}
	s.account.drop(h.Key, h.Owner)
	if !freed {
		return distlock.ErrLost
	}
	return nil
}

// release reports whether there was something of r's owner, which is then gone.
func (s *session) release(ctx context.Context, name string, r record) (freed bool, err error) {
	if r.token != 0 {
		free := s.free
		if r.sought {
			free = s.giveUp
		}
		if freed, err = free(ctx, name, uint64(r.token)); freed || err != nil {
			return freed, err
		}
	}
	entry, err := s.backend.look(ctx, name)
	switch {
	case err != nil || entry == nil || entry.Session != s.id:
		return false, err
	}
	switch owner, _, _ := value.Parse(entry.Value); {
	case owner == r.owner:
	case r.token == 0, s.account.knows(owner):
		return false, nil
	} // or somebody has changed what was in ours
	freed, err = s.free(ctx, name, entry.ModifyIndex)
	if !freed && err == nil {
		err = errMoved
	}
	return freed, err
}

// errMoved leaves it open whether there was something to release.
var errMoved = errors.New("the entry was changed while it was looked at")

// free deletes the entry if it has this index, and reports whether it had.
func (s *session) free(ctx context.Context, name string, index uint64) (bool, error) {
	o, err := s.backend.txn(ctx,
		op{Verb: api.KVCheckIndex, Key: name, Index: index},
		op{Verb: api.KVDelete, Key: name})
	return o.freed(err)
}

// giveUp is free for an entry that others wait for. The result of the unlock
// tells at which index the entry has gone: what comes after it is theirs.
func (s *session) giveUp(ctx context.Context, name string, index uint64) (bool, error) {
	o, err := s.backend.txn(ctx,
		op{Verb: api.KVCheckIndex, Key: name, Index: index},
		op{Verb: api.KVUnlock, Key: name, Session: s.id},
		op{Verb: api.KVDelete, Key: name})
	ok, err := o.freed(err)
	if at, noIndex := o.last(); ok && noIndex == nil {
		s.hub.gaveUp(name, at)
	}
	return ok, err
}

// freed reads the outcome of a transaction that begins with check-index.
func (o outcome) freed(err error) (bool, error) {
	switch {
	case err != nil && isCertain(err):
		return false, distlock.Refused(err)
	case err != nil:
		return false, err
	case len(o.errs) > 0 && o.errs[0].OpIndex != 0:
		return false, distlock.Refused(rejected(o.errs))
	}
	return len(o.errs) == 0, nil
}

// releaseAll releases what is in the account, several at a time, until ctx
// ends. What is not released goes with the session.
func (s *session) releaseAll(ctx context.Context) {
	holds := make(chan distlock.Hold)
	var workers sync.WaitGroup
	for range maxCalls / 4 {
		workers.Go(func() {
			for h := range holds {
				_ = s.Release(ctx, h)
			}
		})
	}
	for _, h := range s.account.holds() {
		holds <- h
	}
	close(holds)
	workers.Wait()
}
