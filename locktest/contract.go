package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

// session opens a session of its own on b, with no core behind it.
func (r *row) session(b distlock.Backend, asked distlock.Terms) (distlock.Session, distlock.Terms) {
	r.Helper()
	s, t := r.open(b, asked)
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), r.patience())
		defer cancel()
		s.Close(ctx)
	})
	return s, t
}

// open is session without the Close at the end: the contract asks for one only.
func (r *row) open(b distlock.Backend, asked distlock.Terms) (distlock.Session, distlock.Terms) {
	r.Helper()
	t, err := b.Check(asked)
	if err != nil {
		r.Fatalf("Check: %v", err)
	}
	s, err := b.Open(r.within(r.patience()), t)
	if err != nil {
		r.Fatalf("Open: %v", err)
	}
	return s, t
}

// bare opens a session that does not run out during the case.
func (r *row) bare() (distlock.Session, distlock.Terms) {
	r.Helper()
	return r.session(r.h.Backend(r), distlock.Terms{TTL: r.long(), LockDelay: 0})
}

// request asks for the case's key as a new owner.
func (r *row) request(t distlock.Terms) distlock.Request {
	return distlock.Request{Key: r.key, Owner: distlock.NewOwner(), Terms: t}
}

// grant makes an attempt on s that must be granted.
func (r *row) grant(s distlock.Session, req distlock.Request) distlock.Hold {
	r.Helper()
	h, err := s.TryAcquire(r.within(r.patience()), req)
	if err != nil {
		r.Fatalf("Session.TryAcquire: %v", err)
	}
	if h.Key != req.Key || h.Owner != req.Owner || h.Terms != req.Terms {
		r.Errorf("the hold's key, owner or terms are not the request's")
	}
	return h
}

// giveUp releases h on s, which must succeed.
func (r *row) giveUp(s distlock.Session, h distlock.Hold) {
	r.Helper()
	if err := s.Release(r.within(r.patience()), h); err != nil {
		r.Fatalf("Session.Release: %v", err)
	}
}

func sessionKinds(r *row) {
	s, _ := r.bare()
	_, isKeeper := s.(distlock.Keeper)
	_, isRenewer := s.(distlock.Renewer)
	if want := r.info.SessionPerTerms; isKeeper != want || isRenewer == want {
		r.Errorf("Info.SessionPerTerms is %v, Keeper %v, Renewer %v", want, isKeeper, isRenewer)
	}
	if r.info.Name == "" || r.h.Backend(r).Info() != r.info {
		r.Errorf("Info is %+v and then %+v", r.info, r.h.Backend(r).Info())
	}
	if err := r.h.Backend(r).Ping(r.within(r.patience())); err != nil {
		r.Errorf("Ping: %v", err)
	}
}

func idempotentByOwner(r *row) {
	s, t := r.bare()
	for range 3 {
		req := r.request(t)
		first := r.grant(s, req)
		for range 3 {
			if h := r.grant(s, req); h.Token != first.Token {
				r.Errorf("a request that arrives again: token %v, the first time %v", h.Token, first.Token)
			}
		}
		r.giveUp(s, first)
		r.is("a second Session.Release", s.Release(r.within(r.patience()), first), distlock.ErrLost)
	}
	r.release(r.try(r.lasting(), r.key)) // one release is enough for all arrivals
}

func releaseOfUnknown(r *row) {
	s, t := r.bare()
	req := r.request(t)
	nothing := distlock.Hold{Key: req.Key, Owner: req.Owner, Terms: t}
	r.is("Session.Release where there is nothing", s.Release(r.within(r.patience()), nothing), distlock.ErrLost)
	r.grant(s, req)
	r.giveUp(s, nothing) // without Token and State
	r.release(r.try(r.lasting(), r.key))
}

func releaseComparesOwner(r *row) {
	s, t := r.bare()
	other, _ := r.bare()
	old := r.grant(s, r.request(t))
	r.giveUp(s, old)
	later := r.grant(s, r.request(t))
	foreign := later
	foreign.Owner = distlock.NewOwner()
	bystander := r.lasting()
	for name, release := range map[string]func() error{
		"an old hold, on the session of the new one": func() error { return s.Release(r.within(r.patience()), old) },
		"an old hold, on another session":            func() error { return other.Release(r.within(r.patience()), old) },
		"another owner's hold": func() error {
			return other.Release(r.within(r.patience()), distlock.Hold{Key: r.key, Owner: foreign.Owner, Terms: t})
		},
		"the holder's hold under another owner": func() error { return s.Release(r.within(r.patience()), foreign) },
	} {
		r.is("Session.Release of "+name, release(), distlock.ErrLost)
		r.refused(bystander, r.key)
	}
	r.giveUp(s, later)
}

func renewContract(r *row) {
	s, t := r.bare()
	renewer := s.(distlock.Renewer)
	mine := r.grant(s, r.request(t))
	req := r.request(t)
	req.Key += "/gone"
	gone := r.grant(s, req)
	r.giveUp(s, gone)
	foreign := mine
	foreign.Owner = distlock.NewOwner()
	never := distlock.Hold{Key: r.key + "/never", Owner: distlock.NewOwner(), Terms: t}
	holds := []distlock.Hold{gone, mine, foreign, never, mine}
	for range 2 {
		errs := renewer.Renew(r.within(r.patience()), holds)
		if len(errs) != len(holds) {
			r.Fatalf("Renew of %d holds: %d results", len(holds), len(errs))
		}
		for i, err := range errs {
			if lost := holds[i] != mine; lost != errors.Is(err, distlock.ErrLost) || lost != (err != nil) {
				r.Errorf("Renew, hold %d: got %v, want a loss: %v", i, err, lost)
			}
		}
	}
	if errs := renewer.Renew(r.within(r.patience()), nil); len(errs) != 0 {
		r.Errorf("Renew of nothing: got %v", errs)
	}
	c := r.lasting()
	r.refused(c, r.key)
	r.release(r.try(c, gone.Key))
	r.release(r.try(c, never.Key))
}

func keepAliveContract(r *row) {
	s, t := r.bare()
	keeper := s.(distlock.Keeper)
	if life := keeper.Lifetime(); life < t.TTL {
		r.Errorf("Lifetime is %v, shorter than the TTL of %v", life, t.TTL)
	}
	h := r.grant(s, r.request(t))
	at := distlock.Instant(time.Hour)
	for range 3 {
		from, err := keeper.KeepAlive(r.within(r.patience()), at)
		if err != nil || from > at {
			r.Fatalf("KeepAlive at %v: got %v, %v; want no later instant", at, from, err)
		}
		at = at.Add(time.Second)
	}
	r.refused(r.lasting(), r.key)
	r.giveUp(s, h)
}

func endedContexts(r *row) {
	s, t := r.bare()
	h := r.grant(s, r.request(t))
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	calls := map[string]func() error{
		"Ping":       func() error { return r.h.Backend(r).Ping(ctx) },
		"TryAcquire": func() error { _, err := s.TryAcquire(ctx, r.request(t)); return err },
		"Release":    func() error { return s.Release(ctx, h) },
	}
	if q, ok := s.(distlock.Queuer); ok {
		calls["Acquire"] = func() error { _, err := q.Acquire(ctx, r.request(t)); return err }
	}
	for name, call := range calls {
		r.promptly(name, call)
	}
}

func sessionCloseFrees(r *row) {
	c := r.lasting()
	b := r.h.Backend(r)
	s, t := r.open(b, distlock.Terms{TTL: r.long(), LockDelay: distlock.UnsetLockDelay})
	r.grant(s, r.request(t))
	r.refused(c, r.key)
	if err := s.Close(r.within(r.patience())); err != nil {
		r.Fatalf("Session.Close: %v", err)
	}
	free := r.request(t)
	free.Key += "-free"
	if _, err := s.TryAcquire(r.within(r.patience()), free); !errors.Is(err, distlock.ErrLost) {
		r.Errorf("got %v from an attempt on a closed session, want ErrLost", err)
	}
	r.free(c, r.key, soon)
	r.nothingLeft(r.key)
	r.release(r.acquire(r.client(b, r.long()), r.key)) // the user's own client is open
}
