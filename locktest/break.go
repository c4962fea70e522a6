package locktest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

var breakCases = []testCase{
	{
		name: "break-frees", run: breakFrees, only: fencedInspector,
		rule: "Break of the grant that has the key frees it at once, for any client, and the next grant has a larger token.",
	},
	{
		name: "break-stale", run: breakStale, only: fencedInspector,
		rule: "Break of any other grant is ErrStale, and neither the holder nor a free key is touched.",
	},
	{
		name: "break-ends-the-lease", run: breakEndsLease, only: fencedInspector,
		rule: "The holder of a lock that was broken hears of it by its next renewal, where it is its client's only one; its Release is ErrLost, and it does nothing to the next holder's.",
	},
	{
		name: "break-hands-over", run: breakHandsOver, only: fencedInspector,
		rule: "A waiter gets a key that was broken as soon as one that was released, in most cases.",
	},
	{
		name: "break-lock-delay", run: breakLockDelay, only: fencedInspector, needs: []string{"LockDelay"},
		rule: "After a Break with a lock-delay nobody gets the key within it, whatever the old holder does, and then soon; Inspect shows no grant meanwhile.",
	},
}

// operator makes a client that breaks locks without a lock-delay.
func (r *row) operator() *distlock.Client {
	r.Helper()
	return r.lasting(distlock.WithLockDelay(0))
}

// breaks ends the grant of key that has token t, through c.
func (r *row) breaks(c *distlock.Client, key string, t distlock.Token) {
	r.Helper()
	if err := c.Break(r.within(r.patience()), key, t); err != nil {
		r.Fatalf("Break: %v", err)
	}
}

func breakFrees(r *row) {
	a, b := r.operator(), r.operator()
	for name, operator := range map[string]*distlock.Client{"a stranger": b, "the holder's client": a} {
		key := r.key + "/" + name
		l := r.acquire(a, key)
		r.breaks(operator, key, l.Token())
		r.shownFree(b, key, "was broken by "+name)
		next := r.try(b, key)
		larger(r, l.Token(), next)
		r.release(next)
		r.nothingLeft(key)
	}
}

// notBroken checks that each of tokens is ErrStale to Break.
func (r *row) notBroken(c *distlock.Client, what string, tokens ...distlock.Token) {
	r.Helper()
	for _, t := range tokens {
		r.is(fmt.Sprintf("Break of token %v %s", t, what), c.Break(r.within(r.patience()), r.key, t), distlock.ErrStale)
	}
}

func breakStale(r *row) {
	a, b := r.lasting(), r.operator()
	r.notBroken(b, "of a key that was never held", 1, 1<<62)
	first := r.acquire(a, r.key)
	r.release(first)
	r.notBroken(b, "of a key that was released", first.Token(), first.Token()+1)
	l := r.acquire(a, r.key)
	r.throughout(r.long()/2, func() error {
		r.notBroken(b, "where another grant has the key", first.Token(), l.Token()-1, l.Token()+1, 1<<62)
		r.refused(b, r.key)
		return l.Err()
	})
	r.release(l)
	next := r.acquire(b, r.key)
	r.notBroken(b, "of the grant before", l.Token())
	r.refused(a, r.key)
	r.release(next)
	r.nothingLeft(r.key)
	r.release(r.try(a, r.key))
}

func breakEndsLease(r *row) {
	var renewed atomic.Int32
	holder, b, c := r.lasting(distlock.WithTrace(&distlock.Trace{Renewed: func(i distlock.RenewInfo) {
		if i.Err == nil {
			renewed.Add(1)
		}
	}})), r.operator(), r.lasting()
	l := r.acquire(holder, r.key)
	r.breaks(b, r.key, l.Token())
	renewed.Store(0)
	next := r.try(b, r.key)
	r.ends(l, 4*r.patience())
	if n := renewed.Load(); n > 2 { // one that was under way, and one whose session lives on
		r.Errorf("the holder has heard of it after %d renewals that succeeded", n)
	}
	r.is("Release of a lock that was broken", l.Release(r.ctx), distlock.ErrLost)
	r.throughout(r.h.TTL, func() error {
		r.refused(c, r.key)
		return next.Err()
	})
	r.release(next)

	l = r.acquire(holder, r.key) // and where it asks before it has heard
	r.breaks(b, r.key, l.Token())
	next = r.try(b, r.key)
	r.is("Release of a lock that was broken just now", l.Release(r.ctx), distlock.ErrLost)
	r.refused(c, r.key)
	r.release(next)
	r.nothingLeft(r.key)
}

func breakHandsOver(r *row) {
	var took []time.Duration
	for i := range 5 {
		key := fmt.Sprint(r.key, "/", i)
		operator := r.operator()
		took = append(took, handOver(r, r.operator(), r.operator(), key, func(l *distlock.Lease) {
			r.breaks(operator, key, l.Token())
		}))
	}
	slices.Sort(took)
	d := took[len(took)/2]
	if d <= r.h.HandOver {
		return
	}
	if most := 2 * handOvers(r, r.lasting(), r.lasting()); d > most { // unless the machine is slow
		r.Errorf("a waiter gets a broken key after %v, want %v or %v", d, r.h.HandOver, most)
	}
}

func breakLockDelay(r *row) {
	operator := r.lasting(distlock.WithLockDelay(r.h.LockDelay))
	holder, other := r.operator(), r.operator()
	terms, err := r.h.Backend(r).Check(distlock.Terms{TTL: r.long(), LockDelay: r.h.LockDelay})
	if err != nil {
		r.Fatalf("Check: %v", err)
	}
	l := r.acquire(holder, r.key)
	start := time.Now()
	r.breaks(operator, r.key, l.Token())
	results := r.wait(r.within(3*r.patience()+terms.LockDelay), other, r.key)
	info := r.inspect(other, r.key)
	if info.Token == l.Token() || info.Held && time.Since(start) < r.h.LockDelay || !info.Held && info.Left > terms.LockDelay+slack {
		r.Errorf("Inspect after a Break with lock-delay %v: got %+v", terms.LockDelay, info)
	}
	r.notBroken(operator, "again", l.Token())
	r.sequencer(other, "a grant that was broken", l.Sequencer(), distlock.ErrStale)
	r.is("Release of a lock that was broken", l.Release(r.ctx), distlock.ErrLost)

	next := r.got(results, terms.LockDelay+pollEvery+r.patience())
	if d := next.at.Sub(start); d < r.h.LockDelay {
		r.Errorf("the next grant came %v after a Break with lock-delay %v", d, r.h.LockDelay)
	}
	larger(r, l.Token(), next.lease)
	r.release(next.lease)
	r.nothingLeft(r.key)
}
