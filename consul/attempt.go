package consul

import (
	"context"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/value"
	"github.com/hashicorp/consul/api"
)

// An attempt is one TryAcquire whose owner is in the account, in doubt.
type attempt struct {
	session *session
	request distlock.Request
	name    string
	again   bool // an earlier copy of the request is in doubt too
}

// run returns the token of the grant: the index of the entry that it locked.
func (a *attempt) run(ctx context.Context) (distlock.Token, error) {
	s := a.session
	if s.hub.yields(ctx, a.name) {
		return a.no(distlock.Held(0))
	}
	o, err := s.backend.txn(ctx,
		op{Verb: api.KVCheckNotExists, Key: a.name},
		op{Verb: api.KVLock, Key: a.name, Session: s.id, Value: []byte(value.Of(a.request))})
	switch {
	case len(o.errs) > 0:
		return a.refused(ctx, o.errs)
	case isCertain(err):
		return a.no(distlock.Refused(err))
	case err != nil:
		return 0, err
	}
	index, err := o.last()
	if err != nil {
		return 0, err
	}
	return a.granted(index), nil
}

// granted enters the grant in the account, and returns its token.
func (a *attempt) granted(index uint64) distlock.Token {
	s, r := a.session, a.request
	token := distlock.Token(index)
	s.account.granted(r.Key, record{owner: r.Owner, token: token, sought: s.hub.sought(a.name)})
	return token
}

// no takes the owner off the account: nothing of this request can be left. An
// earlier copy stays in doubt.
func (a *attempt) no(err error) (distlock.Token, error) {
	if !a.again {
		a.session.account.drop(a.request.Key, a.request.Owner)
	}
	return 0, err
}

// refused says why the lock was not taken.
func (a *attempt) refused(ctx context.Context, errs api.TxnErrors) (distlock.Token, error) {
	switch conflictOf(errs) {
	case noSuch:
		a.session.gone.Store(true)
		return a.no(errNoSession)
	case delayed:
		return a.no(distlock.Held(0))
	case locked:
		a.session.hub.refused(a.name)
		return a.no(distlock.Held(0))
	case exists:
		return a.inspect(ctx)
	}
	return a.no(distlock.Refused(rejected(errs)))
}

// inspect finds out whose the entry is that kept the lock from being taken
// although no other session has locked it.
func (a *attempt) inspect(ctx context.Context) (distlock.Token, error) {
	s := a.session
	entry, err := s.backend.look(ctx, a.name)
	switch {
	case err != nil:
		return 0, err // it may be an earlier copy's
	case entry == nil:
		return a.no(distlock.Held(0)) // until just now
	case entry.Session == "":
		return a.no(distlock.Refused(errForeign))
	case entry.Session != s.id:
		s.hub.refused(a.name)
		return a.no(distlock.Held(0))
	}
	switch owner, _, _ := value.Parse(entry.Value); {
	case owner == a.request.Owner:
		return a.granted(entry.ModifyIndex), nil
	case s.account.knows(owner):
		return a.no(distlock.Held(0))
	}
	// A request of an owner whom nobody here knows any more arrived late.
	_, err = s.free(ctx, a.name, entry.ModifyIndex)
	if err != nil {
		return a.no(distlock.Refused(err))
	}
	return a.no(distlock.Held(0))
}
