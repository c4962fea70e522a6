package locktest

import (
	"maps"
	"time"

	"github.com/distlock-go/distlock"
)

// promptly checks that a call whose ctx has ended, or ends soon, fails and
// returns.
func (r *row) promptly(name string, call func() error) {
	r.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }() // ends with the connection at the latest
	select {
	case err := <-done:
		if err == nil {
			r.Errorf("%s with a ctx that has ended: got nil, want an error", name)
		}
	case <-time.After(soon):
		r.Errorf("%s has not returned %v after the end of its ctx", name, soon)
	}
}

func cutOffSession(r *row) {
	b, link := r.h.Link(r)
	r.Cleanup(link.Restore)
	s, t := r.session(b, distlock.Terms{TTL: r.long(), LockDelay: 0})
	h := r.grant(s, r.request(t))
	ctx := r.within(slack / 2)
	calls := map[string]func() error{
		"TryAcquire": func() error { _, err := s.TryAcquire(ctx, r.request(t)); return err },
		"Release":    func() error { return s.Release(ctx, h) },
	}
	switch s := s.(type) {
	case distlock.Renewer:
		calls["Renew"] = func() error { return s.Renew(ctx, []distlock.Hold{h})[0] }
	case distlock.Keeper:
		calls["KeepAlive"] = func() error { _, err := s.KeepAlive(ctx, 0); return err }
	}
	if q, ok := s.(distlock.Queuer); ok {
		calls["Acquire"] = func() error { _, err := q.Acquire(ctx, r.request(t)); return err }
	}
	maps.Copy(calls, inspectorCalls(b, ctx, r.key, h.Token))
	link.Swallow()
	for name, call := range calls {
		r.promptly(name, call)
	}
}
