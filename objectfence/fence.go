package objectfence

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/absent"
	fencemark "github.com/distlock-go/distlock/internal/mark"
)

// Options say whose tokens a Fence takes.
type Options struct {
	// Source names the lock service that the tokens come from, such as
	// "etcd-eu": 1 to 128 bytes of printable ASCII. Required. A mark means
	// something only for the tokens of one service, so a mark of another source
	// is an error.
	Source string
}

// A Fence is the resource's side of the check for objects in a Store. Each object
// is a resource with a mark of its own, the largest token it has seen: a new holder
// advances every object it will touch before it reads any.
//
// Every method returns
//   - nil: done;
//   - an error that matches distlock.ErrStale: the token is smaller than the mark;
//   - one that matches distlock.ErrSource: the mark is another source's;
//   - one that matches distlock.ErrInvalid: an argument is out of its bounds, or
//     the object has no mark. In all these cases nothing was changed;
//   - any other, such as an error of ctx or of the store, or ErrPrecondition or
//     ErrConflict after 20 attempts that others were before: whether the write was
//     carried out is unknown, since the last put may have been a repetition of one
//     that was, or still will be. With a store that sends no put twice these two say
//     that nothing was changed by this call.
//
// All methods are safe for concurrent use.
type Fence struct {
	store  Store
	source string
	err    error // of the arguments; told by every method
}

// New returns a fence for objects of store. Errors in the arguments are told by
// the first call.
func New(store Store, o Options) *Fence {
	f := &Fence{store: store, source: o.Source}
	if absent.Is(store) {
		f.err = distlock.Invalid("store", "nil", "a Store")
	} else {
		f.err = distlock.CheckSource(o.Source)
	}
	return f
}

// Advance raises the mark of the object to t: at take-over, before the first read.
// An object that does not exist is created, with empty content.
func (f *Fence) Advance(ctx context.Context, name string, t distlock.Token) error {
	return f.write(ctx, &write{fence: f, name: name, token: t})
}

// Update replaces the object's content with what change makes of it, unless t is
// stale. Old is empty where there is no object yet. Change must have no other
// effects: where others write at the same time it is called again, with what they
// wrote. An error of change is returned as it is, and nothing is written.
func (f *Fence) Update(
	ctx context.Context, name string, t distlock.Token, change func(old []byte) ([]byte, error),
) error {
	if change == nil {
		return f.failed(name, distlock.Invalid("change", "nil", "a function"))
	}
	return f.write(ctx, &write{fence: f, name: name, token: t, change: change})
}

// Read returns the content of an object, whoever wrote it. If there is none, the
// error matches fs.ErrNotExist.
func (f *Fence) Read(ctx context.Context, name string) ([]byte, error) {
	if f.err != nil {
		return nil, f.failed(name, f.err)
	}
	body, _, err := f.store.Get(ctx, name)
	if err == nil {
		body, err = Content(body)
	}
	return body, f.failed(name, err)
}

// Reset makes the mark of the object one of this fence's source, at 0: every token
// of this source passes, and those of the source before are errors from now on. The
// content stays. An object that has no mark gets one, before its content; one that
// does not exist is created. Where others write at the same time Reset takes the mark
// from another source, and leaves one that another Reset has brought.
//
// It is an operator's tool: to bring an object under the fence, for a move to
// another lock service, or after the present one was restored from a backup and
// hands out smaller tokens again. In the last case nothing but you can tell the old
// holders' tokens from the new ones, so end all holders first, or give the restored
// service another name.
func (f *Fence) Reset(ctx context.Context, name string) error {
	if f.err != nil {
		return f.failed(name, f.err)
	}
	r := &reset{fence: f, name: name, id: newID()}
	return f.failed(name, repeat(ctx, func() (bool, error) { return r.try(ctx) }))
}

// judge returns nil if t may pass m.
func (f *Fence) judge(m mark, t distlock.Token) error {
	return fencemark.Judge(m.source, m.token, f.source, t)
}

func (f *Fence) failed(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("distlock: fence %q (object): %w", name, err)
}
