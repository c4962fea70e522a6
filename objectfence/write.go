package objectfence

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/distlock-go/distlock"
)

// An object is what a Store has under a name, the zero object if nothing.
type object struct {
	mark    mark
	content []byte
	tag     string
}

// get returns the object. One without a mark comes with an error, as content.
func (f *Fence) get(ctx context.Context, name string) (object, error) {
	body, tag, err := f.store.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return object{mark: mark{source: f.source}}, nil
	}
	if err != nil {
		return object{}, err
	}
	m, content, err := split(body)
	if err != nil {
		return object{content: body, tag: tag}, err
	}
	return object{m, content, tag}, nil
}

// A write is one call of Advance or Update, over all its attempts.
type write struct {
	fence  *Fence
	name   string
	token  distlock.Token
	change func([]byte) ([]byte, error) // nil: only raise the mark

	id     string // the same in all attempts: one may be carried out after the next was begun
	tried  bool   // there was an attempt
	before mark   // that it was to follow
	own    error  // what change said
}

// errForgotten says that after a refused put the mark tells no more what happened.
var errForgotten = errors.New("unknown whether the write was carried out: too many came after it")

// write carries w out.
func (f *Fence) write(ctx context.Context, w *write) error {
	err := f.err
	if err == nil {
		err = distlock.CheckToken(w.token)
	}
	if err != nil {
		return f.failed(w.name, err)
	}
	w.id = newID()
	err = repeat(ctx, func() (bool, error) { return w.try(ctx) })
	if w.own != nil {
		return w.own
	}
	return f.failed(w.name, err)
}

// try makes one attempt. It is not made if the one before turns out to have been
// carried out, or may have been.
func (w *write) try(ctx context.Context) (done bool, err error) {
	o, err := w.fence.get(ctx, w.name)
	if err != nil {
		return false, err
	}
	if slices.Contains(o.mark.ids, w.id) {
		return true, nil // a client library repeated the put, and the second was refused
	}
	if w.tried && w.change != nil && !w.before.excludes(w.id, o.mark) {
		return false, errForgotten
	}
	if err := w.fence.judge(o.mark, w.token); err != nil {
		return false, err
	}
	content := o.content
	switch {
	case w.change == nil && o.mark.token == w.token:
		return true, nil
	case w.change != nil:
		if content, w.own = w.change(slices.Clone(content)); w.own != nil {
			return true, nil // whatever it is: it may look like a store's
		}
	}
	w.before, w.tried = o.mark, true
	body := o.mark.after(w.fence.source, w.token, w.id).body(content)
	err = w.fence.store.Put(ctx, w.name, body, o.tag)
	return err == nil, err
}
