package objectfence

import (
	"context"
	"errors"
	"slices"

	"github.com/distlock-go/distlock"
	fencemark "github.com/distlock-go/distlock/internal/mark"
)

// A reset is one call of Reset, over all its attempts.
type reset struct {
	fence *Fence
	name  string
	id    string // the same in all attempts

	tried  bool
	first  mark   // that was read first; the zero mark if there was none
	before object // that the last attempt was to replace
}

// try makes one attempt, unless there is no more need for it, or may be none.
func (r *reset) try(ctx context.Context) (done bool, err error) {
	o, err := r.fence.get(ctx, r.name)
	marked := err == nil && o.tag != ""
	if err != nil && !errors.Is(err, distlock.ErrInvalid) {
		return false, err
	}
	if r.tried && marked && o.tag != r.before.tag {
		switch {
		case slices.Contains(o.mark.ids, r.id),
			fencemark.Overtaken(r.fence.source, r.first.source, r.first.token, o.mark.source, o.mark.token):
			return true, nil // its own put, whatever the answer was; or a newer one, not to be undone
		case !r.before.mark.excludes(r.id, o.mark):
			return false, errForgotten
		}
	}
	if !r.tried && marked {
		r.first = o.mark
	}
	r.before, r.tried = o, true
	err = r.fence.store.Put(ctx, r.name, o.mark.after(r.fence.source, 0, r.id).body(o.content), o.tag)
	return err == nil, err
}
