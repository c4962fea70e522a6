package locktest

import (
	"context"
	"errors"
	"math"

	"github.com/distlock-go/distlock"
)

func tokenLevel(r *row) {
	level := r.info.Fencing
	if level < distlock.FencingNone || level > distlock.FencingDurable {
		r.Fatalf("Info.Fencing is %v, want a known level", level)
	}
	for _, need := range []distlock.Fencing{distlock.FencingNone, distlock.FencingBestEffort, distlock.FencingDurable} {
		_, err := distlock.New(r.h.Backend(r), distlock.WithTTL(r.h.TTL), distlock.RequireFencing(need))
		if ok := need <= level; ok != (err == nil) || !ok && !errors.Is(err, distlock.ErrNoFencing) {
			r.Errorf("RequireFencing(%v) where the level is %v: got %v", need, level, err)
		}
	}
	l := r.acquire(r.lasting(), r.key)
	if tok := l.Token(); r.fenced() != (tok != 0) || tok > math.MaxInt64 {
		r.Errorf("the token is %v with fencing %v", tok, level)
	}
}

func tokensOverReleases(r *row) {
	clients := []*distlock.Client{r.lasting(), r.lasting()}
	var last distlock.Token
	for i := range 12 {
		l := r.acquire(clients[i/2%2], r.key)
		larger(r, last, l)
		last = l.Token()
		r.release(l)
	}
}

func tokensOverDeletion(r *row) {
	l := r.acquire(r.lasting(), r.key)
	for range 3 {
		r.remove(r.h.Delete, r.key)
		next := r.acquire(r.lasting(), r.key)
		larger(r, l.Token(), next)
		l = next
	}
}

// remove takes something of key off the service behind the library's back.
func (r *row) remove(f func(context.Context, string) error, key string) {
	r.Helper()
	if err := f(r.within(r.patience()), key); err != nil {
		r.Fatalf("the harness cannot delete %q: %v", key, err)
	}
}

func tokensOverCounterDeletion(r *row) {
	a, b := r.lasting(), r.lasting()
	var last distlock.Token
	for range 3 {
		for range 3 { // a counter that restarts must not get away with one step
			l := r.acquire(a, r.key)
			larger(r, last, l)
			last = l.Token()
			r.release(l)
		}
		r.remove(r.h.DeleteCounter, r.key)
		a, b = b, a
	}
}

func tokensOverRefusals(r *row) {
	s, t := r.session(r.h.Backend(r), distlock.Terms{TTL: r.long()})
	other, _ := r.session(r.h.Backend(r), distlock.Terms{TTL: r.long()})
	req := r.request(t)
	first := r.grant(s, req)
	for range 5 {
		refusedReq := r.request(t)
		h, err := other.TryAcquire(r.within(r.patience()), refusedReq)
		if !errors.Is(err, distlock.ErrHeld) || h.Token != 0 || h.State != nil {
			r.Fatalf("a refused attempt: got %+v, %v; want no hold and ErrHeld", h, err)
		}
	}
	again := r.grant(s, req)
	if again.Token != first.Token {
		r.Errorf("the holder's token was %v and is %v after others were refused", first.Token, again.Token)
	}
	r.giveUp(s, first)
	c := r.lasting()
	l := r.acquire(c, r.key)
	larger(r, first.Token, l)
}

func tokenFrozen(r *row) {
	c, other := r.short(), r.short()
	l := r.acquire(c, r.key)
	tok := l.Token()
	same := func() error {
		if l.Token() != tok {
			return errors.New("the token of a lease has changed")
		}
		return nil
	}
	r.throughout(r.h.TTL*3/2, func() error { // over renewals and refused attempts
		r.refused(other, r.key)
		return same()
	})
	r.release(l)
	next := r.acquire(other, r.key)
	larger(r, tok, next)
	if err := same(); err != nil {
		r.Error(err)
	}
}

func tokenInContext(r *row) {
	c := r.lasting()
	outer, inner := r.acquire(c, r.key), r.acquire(c, r.key+"/inner")
	if _, _, ok := distlock.TokenFromContext(r.ctx); ok {
		r.Error("TokenFromContext finds a token in a context without lease")
	}
	octx := outer.Context(r.ctx)
	ictx := inner.Context(octx)
	for _, test := range []struct {
		ctx  context.Context
		want *distlock.Lease
	}{{octx, outer}, {ictx, inner}} {
		key, tok, ok := distlock.TokenFromContext(test.ctx)
		if key != test.want.Key() || tok != test.want.Token() || !ok {
			r.Errorf("TokenFromContext: got %q, %v, %v; want %q, %v, true", key, tok, ok, test.want.Key(), test.want.Token())
		}
	}
	r.release(inner)
	r.is("the inner lease's context", context.Cause(ictx), distlock.ErrReleased)
	if octx.Err() != nil {
		r.Errorf("the outer lease's context ended with the inner lease: %v", context.Cause(octx))
	}
	r.release(outer)
	r.is("the outer lease's context", context.Cause(octx), distlock.ErrReleased)
	r.is("a context made after the end", context.Cause(outer.Context(r.ctx)), distlock.ErrReleased)
}
