package consul

import (
	"context"
	"sync"

	"github.com/distlock-go/distlock"
	"github.com/hashicorp/consul/api"
)

// Release unlocks and deletes the entry, if it is as it was at the grant.
// Otherwise, and where the grant was never seen, it looks whose the entry is.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, known, other := s.account.find(h.Key, h.Owner)
	if !known && (h.State != nil || other) {
		return distlock.ErrLost // it was answered before, or another owner here has the key
	}
	freed, err := s.release(ctx, h, r)
	if err != nil {
		return err
	}
	s.account.drop(h.Owner)
	if !freed {
		return distlock.ErrLost
	}
	return nil
}

// release reports whether there was something of h's owner, which is then
// gone. R is what is on the account of it.
func (s *session) release(ctx context.Context, h distlock.Hold, r record) (freed bool, err error) {
	name := entryName(s.backend.opts.Prefix, h.Key)
	if r.token != 0 {
		at, ok, err := s.free(ctx, name, uint64(r.token))
		if ok && r.sought {
			s.hub.gaveUp(name, at)
		}
		if ok || err != nil {
			return ok, err
		}
	}
	entry, err := s.backend.look(ctx, name)
	switch {
	case err != nil || entry == nil || entry.Session != s.id:
		return false, err
	case r.token == 0 && ownerOf(entry) != h.Owner.Text():
		return false, nil // after a grant, whatever is in an entry of ours: somebody has changed it
	}
	_, freed, err = s.free(ctx, name, entry.ModifyIndex)
	return freed, err
}

// free deletes the entry if it has this index. It returns the index of the
// store at which it did.
func (s *session) free(ctx context.Context, name string, index uint64) (at uint64, ok bool, err error) {
	results, errs, err := s.backend.txn(ctx,
		&api.KVTxnOp{Verb: api.KVCheckIndex, Key: name, Index: index},
		&api.KVTxnOp{Verb: api.KVUnlock, Key: name, Session: s.id},
		&api.KVTxnOp{Verb: api.KVDelete, Key: name})
	switch {
	case err != nil:
		return 0, false, err
	case len(errs) > 0 && errs[0].OpIndex != 0:
		return 0, false, rejected(errs)
	case len(errs) > 0:
		return 0, false, nil
	}
	return results[len(results)-1].KV.ModifyIndex, true, nil
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
