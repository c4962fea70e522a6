package redis

import (
	"context"
	"time"
)

// A watch ends the contexts of a lane's lone calls. Of these there is one at a time,
// so one timer serves them all, which looks from time to time whether the present one
// has been under way for too long: to set and stop a timer for each would cost more
// than all else that a lone call saves. Guarded by lane.mu.
type watch struct {
	now   *patience     // of the call under way; nil: none
	done  chan struct{} // of the next ones; nil: they need a new one
	timer *time.Timer
	set   bool
}

// patience is the context of a lone call. Of the caller's it has the values alone:
// whoever sends alone has seen to it that the caller's deadline is not before this one's.
type patience struct {
	context.Context
	until time.Time
	done  chan struct{} // closed when until has passed
}

func (p *patience) Deadline() (time.Time, bool) { return p.until, true }
func (p *patience) Done() <-chan struct{}       { return p.done }

func (p *patience) Err() error {
	select {
	case <-p.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// begin returns the context of a lone call that starts now. l.mu is held.
func (l *lane) begin(ctx context.Context, now time.Time) *patience {
	w := &l.alone.watch
	if w.done == nil {
		w.done = make(chan struct{})
	}
	w.now = &patience{Context: ctx, until: now.Add(l.alone.bound), done: w.done}
	if !w.set {
		w.set = true
		if w.timer == nil {
			w.timer = time.AfterFunc(l.alone.bound, l.look)
		} else {
			w.timer.Reset(l.alone.bound)
		}
	}
	return w.now
}

// look ends the call under way if it is its time, and looks again as long as there
// are any.
func (l *lane) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &l.alone.watch
	w.set = w.now != nil
	if !w.set {
		return
	}
	rest := time.Until(w.now.until)
	if rest <= 0 {
		close(w.done)
		w.now, w.done, w.set = nil, nil, false
		return
	}
	w.timer.Reset(rest)
}
