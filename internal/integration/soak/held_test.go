package soak_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/history"
)

// A held lease is one in the history.
type held struct {
	*distlock.Lease
	w     *worker
	grant int // the number of its Acquire
	set   []string
}

// acquire gets key within the limit, or tries once. A nil lease says that it did not get
// it.
func (w *worker) acquire(ctx context.Context, key string, limit time.Duration, once bool) *held {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	how := w.locks.Acquire
	if once {
		how = w.locks.TryAcquire
	}
	c := w.log.Begin(history.Op{Kind: history.Acquire, Key: key})
	l, err := how(ctx, key)
	switch {
	case err == nil:
		c.Token, c.Deadline = l.Token(), history.Until(l.Deadline())
		c.End(history.Done)
		return &held{Lease: l, w: w, grant: c.Number}
	case errors.Is(err, distlock.ErrHeld):
		c.End(history.Refused)
	default:
		c.End(history.Unknown)
		pause(ctx, w.target.ttl/20) // its server is being restarted
	}
	return nil
}

// valid looks whether the lease is.
func (h *held) valid() bool {
	c := h.w.log.Begin(history.Op{Kind: history.Look, Key: h.Key(), Lease: h.grant})
	deadline := history.Until(h.Deadline())
	if !h.Valid() {
		c.End(history.Refused)
		return false
	}
	c.Deadline = deadline
	c.End(history.Done)
	return true
}

// release gives the lease up. Its outcome may be unknown: the next holder shows.
func (h *held) release(ctx context.Context) {
	c := h.w.log.Begin(history.Op{Kind: history.Release, Key: h.Key(), Lease: h.grant})
	switch err := h.Release(ctx); {
	case err == nil:
		c.End(history.Done)
	case errors.Is(err, distlock.ErrLost):
		c.End(history.Refused)
	default:
		c.End(history.Unknown)
	}
}

// enter raises the mark and reads the set. It reports whether the fence lets it in; an
// error is one of the test itself.
func (h *held) enter() (bool, error) {
	c := h.w.log.Begin(history.Op{Kind: history.Enter, Key: h.Key(), Token: h.Token()})
	reply, err := h.use("Resource.Enter", nil)
	if err != nil {
		return false, err
	}
	h.set = reply.Set
	if reply.Stale {
		c.End(history.Refused)
		return false, nil
	}
	c.Value = last(h.set)
	c.End(history.Done)
	return true, nil
}

// write replaces the set by one that ends with value, the name of this write.
func (h *held) write(value string, set []string) (bool, error) {
	c := h.w.log.Begin(history.Op{Kind: history.Write, Key: h.Key(), Token: h.Token(), Base: last(h.set), Value: value})
	reply, err := h.use("Resource.Write", append(set, value))
	if err != nil {
		return false, err
	}
	if reply.Stale {
		c.End(history.Refused)
		return false, nil
	}
	c.End(history.Done)
	return true, nil
}

func (h *held) use(method string, set []string) (reply Reply, err error) {
	err = h.w.resource.Call(method, Use{Process: h.w.Process, Key: h.Key(), Token: h.Token(), Set: set}, &reply)
	return reply, err
}

// element is a name for what a lease writes.
func (h *held) element() string { return fmt.Sprint(h.w.Process, "-", h.grant) }
