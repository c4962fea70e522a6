package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

func lossNoticed(r *row) {
	ttl := 3 * r.h.TTL // so that an interval can be told from the deadline
	for range 2 {
		c := r.client(r.h.Backend(r), ttl)
		l := r.acquire(c, r.key)
		start := time.Now()
		r.remove(r.h.Delete, r.key)
		r.ends(l, r.patience())
		if took, most := time.Since(start), ttl/3+ttl/5; took > most {
			r.Errorf("a deleted key is noticed after %v; a renewal is due every %v", took, ttl/3)
		}
		r.is("Release after it", l.Release(r.ctx), distlock.ErrLost)
	}
}

func sessionExpelled(r *row) {
	ttl := 3 * r.h.TTL
	for _, name := range []string{"Acquire", "TryAcquire"} {
		c := r.client(r.h.Backend(r), ttl)
		key := r.key + "/" + name
		l, second := r.acquire(c, key), r.acquire(c, key+"/second")
		start := time.Now()
		r.remove(r.h.Expel, key)
		next, err := acquirers(c)[name](r.within(r.patience()), key+"/next")
		if err != nil {
			r.Fatalf("%s right after the service has ended the session: %v", name, err)
		}
		r.ends(l, r.patience())
		r.ends(second, r.patience())
		if took, most := time.Since(start), ttl/3+ttl/5; took > most {
			r.Errorf("the end of a session is noticed after %v; a renewal is due every %v", took, ttl/3)
		}
		again := r.acquire(c, key)
		larger(r, l.Token(), again)
		r.throughout(r.h.TTL, func() error { return errors.Join(again.Err(), next.Err()) })
		r.is("Release of a lease that was lost with its session", l.Release(r.ctx), distlock.ErrLost)
		r.release(again)
		r.release(next)
	}
}

func notRecreated(r *row) {
	c, other := r.short(), r.short()
	l := r.acquire(c, r.key)
	r.remove(r.h.Delete, r.key)
	r.ends(l, r.patience())
	r.throughout(r.h.TTL, func() error {
		next, err := other.TryAcquire(r.within(r.patience()), r.key)
		if err != nil {
			return errors.New("a lock that was deleted has come back")
		}
		larger(r, l.Token(), next)
		return next.Release(r.ctx)
	})
	r.nothingLeft(r.key)
}

func acquireAfterLoss(r *row) {
	c := r.short()
	l := r.acquire(c, r.key, distlock.WithoutRenewal())
	r.ends(l, r.h.Expiry+slack)
	next := r.acquire(c, r.key)
	larger(r, l.Token(), next)
	r.is("Release of the lost lease", l.Release(r.ctx), distlock.ErrLost)
	r.throughout(r.h.TTL*3/2, func() error { return next.Err() })
	r.release(next)
}

func releaseAfterLoss(r *row) {
	a, b, c := r.short(), r.lasting(), r.lasting()
	l := r.acquire(a, r.key, distlock.WithoutRenewal())
	r.ends(l, r.h.Expiry+slack)
	next := r.acquire(b, r.key)
	for range 3 {
		r.is("Release after a loss", l.Release(r.ctx), distlock.ErrLost)
		r.refused(c, r.key)
	}
	if next.Err() != nil {
		r.Errorf("the next holder's lease ended: %v", next.Err())
	}
	r.release(next)
}

// releaseAfterDeletion is releaseAfterLoss where the client does not know yet.
func releaseAfterDeletion(r *row) {
	a, b, c := r.lasting(), r.lasting(), r.lasting()
	l := r.acquire(a, r.key)
	r.remove(r.h.Delete, r.key)
	next := r.acquire(b, r.key)
	for range 3 {
		r.is("Release of a key that was deleted and is another's", l.Release(r.ctx), distlock.ErrLost)
		r.refused(c, r.key)
	}
	r.release(next)
}
