package locktest

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
)

var inspectCases = []testCase{
	{
		name: "inspect-free", run: inspectFree, only: "Inspector",
		rule: "A key that was never held, released or deleted is free, without token, holder, time left and waiters.",
	},
	{
		name: "inspect-held", run: inspectHeld, only: "Inspector",
		rule: "Inspect of a held key tells the lease's token, its holder's text and no more time than the lifetime, to any client, over renewals.",
	},
	{
		name: "inspect-waiters", run: inspectWaiters, only: "Inspector",
		rule: "Of those who wait for a key each client counts once, from when it waits until it has given up.",
	},
	{
		name: "inspect-takes-no-part", run: inspectTakesNoPart, only: "Inspector",
		rule: "Inspect neither takes a key nor leaves anything of it, and ends with its ctx, as Break does.",
	},
	{
		name: "inspect-foreign", run: inspectForeign, only: "Inspector", needs: []string{"Foreign"},
		rule: "What is under a key and is none of the library's grants is ErrForeign to Inspect and Break, and stays as it is.",
	},
	{
		name: "sequencer-tells-the-present-grant", run: sequencers, only: fencedInspector,
		rule: "A sequencer is current while its grant has the key, for any client, and stale once that was released, deleted or followed by another.",
	},
	{
		name: "sequencer-takes-no-part", run: sequencersTakeNoPart, only: fencedInspector,
		rule: "Checking a sequencer neither takes a key nor leaves anything of it, and ends with its ctx.",
	},
	{
		name: "sequencer-until-min-hold", run: sequencerUntilMinHold, only: fencedRenewer,
		rule: "The sequencer of a grant that was released WithMinHold is current while the key stays taken, and then stale.",
	},
}

// fencedInspector is the kind of backend that Break and sequencers are for.
const fencedInspector = "Inspector with tokens"

// fencedRenewer is one whose grants can outlive their release.
const fencedRenewer = "Inspector with tokens of a Renewer"

// inspect looks at key through c.
func (r *row) inspect(c *distlock.Client, key string) distlock.LockInfo {
	r.Helper()
	info, err := c.Inspect(r.within(r.patience()), key)
	if err != nil {
		r.Fatalf("Inspect: %v", err)
	}
	return info
}

// shownFree checks what c is told of key, which nobody has or wants.
func (r *row) shownFree(c *distlock.Client, key, what string) {
	r.Helper()
	info := r.inspect(c, key)
	info.Left, info.Waiters = max(info.Left, 0), max(info.Waiters, 0)
	if info != (distlock.LockInfo{}) {
		r.Errorf("Inspect of a key that %s: got %+v, want a free key", what, info)
	}
}

func inspectFree(r *row) {
	a, b := r.lasting(), r.lasting()
	r.shownFree(a, r.key, "was never held")
	l := r.acquire(a, r.key)
	r.refused(b, r.key)
	r.release(l)
	r.shownFree(a, r.key, "was released")
	r.shownFree(b, r.key, "was released")
	if r.h.Delete != nil {
		r.acquire(a, r.key)
		r.remove(r.h.Delete, r.key)
		r.shownFree(b, r.key, "was deleted")
	}
}

// shownHeld is an error unless info is about l, whose holder's text is text.
func (r *row) shownHeld(info distlock.LockInfo, l *distlock.Lease, text string) error {
	most := r.terms(r.long()).Lifetime() + slack
	switch {
	case !info.Held || info.Token != l.Token() || info.Holder != text:
		return fmt.Errorf("got %+v, want it held with token %v by %q", info, l.Token(), text)
	case info.Left == 0 || info.Left < -1 || info.Left > most:
		return fmt.Errorf("left are %v, want more than 0 up to %v, or -1", info.Left, most)
	case info.Waiters > 0 || info.Waiters < -1:
		return fmt.Errorf("%d wait, want 0 or -1", info.Waiters)
	}
	return nil
}

func inspectHeld(r *row) {
	a, b := r.lasting(distlock.WithHolder("locktest ü 1/2")), r.lasting()
	l := r.acquire(a, r.key)
	r.throughout(r.long()/2, func() error {
		for _, c := range []*distlock.Client{a, b} {
			if err := r.shownHeld(r.inspect(c, r.key), l, "locktest ü 1/2"); err != nil {
				return err
			}
		}
		return l.Err()
	})
	r.release(l)
	next := r.acquire(b, r.key, distlock.WithHolder("")) // nothing is left of the one before
	if err := r.shownHeld(r.inspect(a, r.key), next, ""); err != nil {
		r.Error(err)
	}
	r.release(next)
}

func inspectWaiters(r *row) {
	holder, b, c := r.lasting(), r.lasting(), r.lasting()
	l := r.acquire(holder, r.key)
	if r.inspect(holder, r.key).Waiters == -1 {
		r.Fatal("Waiters is -1, want 0: if the service does not know who waits, leave the row out and say so")
	}
	count := func(what string, want int) {
		r.Helper()
		var last distlock.LockInfo
		if !poll(r.patience(), func() bool { last = r.inspect(holder, r.key); return last.Waiters == want }) {
			r.Errorf("%s: %d wait, want %d", what, last.Waiters, want)
		}
		if !last.Held || last.Token != l.Token() {
			r.Errorf("%s: got %+v, want it held with token %v", what, last, l.Token())
		}
	}
	count("nobody waits", 0)
	ctx, leave := context.WithCancel(r.ctx)
	defer leave()
	first, second := r.wait(ctx, b, r.key), r.wait(ctx, b, r.key)
	count("two goroutines of one client", 1)
	other := r.wait(ctx, c, r.key)
	count("two clients", 2)
	leave()
	for _, w := range []<-chan result{first, second, other} {
		r.is("a wait that was given up", r.ended(w, r.patience()).err, context.Canceled)
	}
	count("all have given up", 0)
	r.release(l)
}

func inspectTakesNoPart(r *row) {
	a, b := r.lasting(), r.lasting()
	look := func() {
		for range 3 {
			r.inspect(b, r.key)
		}
	}
	look()
	l := r.try(a, r.key)
	look()
	r.refused(b, r.key)
	if err := l.Err(); err != nil {
		r.Errorf("the lease has ended: %v", err)
	}
	r.release(l)
	look()
	r.nothingLeft(r.key)
	next := r.try(a, r.key)
	larger(r, l.Token(), next)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	for name, call := range inspectorCalls(r.h.Backend(r), ctx, r.key, next.Token()) {
		r.promptly(name, call)
	}
	if err := r.shownHeld(r.inspect(b, r.key), next, r.inspect(a, r.key).Holder); err != nil {
		r.Errorf("after calls whose ctx had ended: %v", err)
	}
	r.release(next)
}

// inspectorCalls are the calls of b that need no session; none if it is no Inspector.
func inspectorCalls(b distlock.Backend, ctx context.Context, key string, t distlock.Token) map[string]func() error {
	i, ok := b.(distlock.Inspector)
	if !ok {
		return nil
	}
	return map[string]func() error{
		"Inspect": func() error { _, err := i.Inspect(ctx, key); return err },
		"Break":   func() error { return i.Break(ctx, key, max(t, 1), 0) },
	}
}

func inspectForeign(r *row) {
	c := r.lasting()
	r.remove(r.h.Foreign, r.key)
	r.Cleanup(func() {
		if r.h.Delete != nil {
			_ = r.h.Delete(context.Background(), r.key) // what cannot be, stays: the key is the row's own
		}
	})
	for range 2 {
		info, err := c.Inspect(r.within(r.patience()), r.key)
		r.is("Inspect of something foreign", err, distlock.ErrForeign)
		if info != (distlock.LockInfo{}) {
			r.Errorf("Inspect of something foreign tells %+v", info)
		}
		if r.fenced() {
			for _, t := range []distlock.Token{1, 42} {
				err := c.Break(r.within(r.patience()), r.key, t)
				r.is("Break of something foreign", err, distlock.ErrForeign)
			}
		}
	}
}
