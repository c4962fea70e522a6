package mark

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
)

// A Store has the marks of a Fence. A version is a positive number that changes
// whenever the mark does; 0 is that of a key without a mark.
type Store interface {
	// Read returns the mark of key and its version, as new as the last write
	// that was answered to anybody.
	Read(ctx context.Context, key string) (text string, version int64, err error)
	// Swap replaces the mark of key if it is in this version, and returns its
	// new one. If it is in another, the error matches ErrMoved.
	Swap(ctx context.Context, key, text string, version int64) (now int64, err error)
	// Refused reports whether err, which is not nil, says that a request was
	// not carried out and will not be.
	Refused(err error) bool
}

// ErrMoved says that the mark was in another version, and nothing was done.
var ErrMoved = errors.New("the mark was changed meanwhile, time and again; nothing was written")

// tries bounds how often a call loses a race. Each is lost to somebody who has
// raised the mark, so few are.
const tries = 100

// A Fence compares tokens with marks in a Store. It is made by New and is safe
// for concurrent use.
type Fence struct {
	name   string // of the backend, as errors show it
	source string
	store  Store
	err    error // of the arguments; told by every method
	recent recent
}

// New returns the fence of a backend for tokens of source. Err is what is wrong
// with the arguments, if anything is.
func New(name, source string, s Store, err error) *Fence {
	if err == nil {
		err = distlock.CheckSource(source)
	}
	return &Fence{name: name, source: source, store: s, err: err}
}

// Advance raises the mark of key to t.
func (f *Fence) Advance(ctx context.Context, key string, t distlock.Token) error {
	return f.do(ctx, key, t, func() error {
		_, err := f.raise(ctx, key, t)
		return err
	})
}

// Write calls write with a version in which the mark of key is t's. Write has the
// store check the version in the same step as it writes, and returns an error that
// matches ErrMoved if it is another: then the mark is read again and write may be
// called again.
func (f *Fence) Write(ctx context.Context, key string, t distlock.Token, write func(version int64) error) error {
	return f.do(ctx, key, t, func() error {
		version, known := f.recent.version(key, t)
		if !known {
			var err error
			if version, err = f.raise(ctx, key, t); err != nil {
				return err
			}
		}
		err := f.outcome(write(version))
		if errors.Is(err, ErrMoved) {
			f.recent.forget(key)
		}
		return err
	})
}

// Reset makes the mark of key one of this fence's source, at 0. It too replaces what
// it has read and nothing else, so that one that arrives late undoes no later mark: one
// that another Reset has brought meanwhile stays as it is.
func (f *Fence) Reset(ctx context.Context, key string) error {
	const smallest = 1 // Reset has no token, and this one is valid
	var r Resetting
	return f.do(ctx, key, smallest, func() error {
		text, version, err := f.store.Read(ctx, key)
		if err != nil || r.IsDone(text, f.source) {
			return err
		}
		f.recent.forget(key)
		_, err = f.store.Swap(ctx, key, mark{source: f.source}.text(), version)
		return f.outcome(err)
	})
}

// do calls try, unless an argument is out of its bounds, until it does not lose a race.
func (f *Fence) do(ctx context.Context, key string, t distlock.Token, try func() error) error {
	err := f.valid(key, t)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return f.Failed(key, err)
	}
	for range tries {
		if err = try(); !errors.Is(err, ErrMoved) {
			break
		}
	}
	return f.Failed(key, err)
}

// raise makes the mark of key t's, unless t is stale, and returns its version.
func (f *Fence) raise(ctx context.Context, key string, t distlock.Token) (int64, error) {
	text, version, err := f.store.Read(ctx, key)
	if err != nil {
		return 0, err
	}
	ours := mark{f.source, t}
	if version != 0 {
		m, err := parse(text)
		if err == nil {
			err = m.judge(ours)
		}
		if err != nil {
			return 0, err
		}
	}
	if version == 0 || text != ours.text() {
		if version, err = f.store.Swap(ctx, key, ours.text(), version); err != nil {
			return 0, f.outcome(err)
		}
	}
	f.recent.note(key, t, version)
	return version, nil
}

// outcome says of the error of a write whether the write may have been carried out.
func (f *Fence) outcome(err error) error {
	if err == nil || errors.Is(err, ErrMoved) || errors.Is(err, distlock.ErrInvalid) || f.store.Refused(err) {
		return err
	}
	return fmt.Errorf("unknown whether it was carried out: %w", err)
}

func (f *Fence) valid(key string, t distlock.Token) error {
	err := f.err
	if err == nil {
		err = distlock.CheckToken(t)
	}
	if err == nil {
		err = distlock.CheckKey(key)
	}
	return err
}

// Failed is err as a method tells it, which names key and backend. Nil stays nil.
func (f *Fence) Failed(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("distlock: fence %q (%s): %w", key, f.name, err)
}
