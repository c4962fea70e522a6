package fencetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/distlock-go/distlock"
)

// A bench is where one rule is checked.
type bench struct {
	Harness
	key string
}

// open returns the fence of the source that most rules are checked with.
func (b bench) open() Fence { return b.Open("one") }

// is returns an error unless got matches want, and each sentinel that it does not
// match is not got either.
func is(what string, got, want error) error {
	for _, s := range []error{distlock.ErrStale, distlock.ErrSource, distlock.ErrInvalid} {
		if errors.Is(got, s) != errors.Is(want, s) {
			return fmt.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	if !errors.Is(got, want) {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// A step is a write, or an Advance, and what must come of it.
type step struct {
	token distlock.Token
	want  error
}

// walk takes the steps, each by Advance and by Write, and looks at the content.
func (b bench) walk(ctx context.Context, f Fence, steps ...step) error {
	for _, s := range steps {
		for _, advances := range []bool{true, false} {
			before, err := f.Read(ctx, b.key)
			if err != nil {
				return err
			}
			want, what := before, fmt.Sprintf("Advance with %v", s.token)
			if advances {
				err = f.Advance(ctx, b.key, s.token)
			} else {
				what = fmt.Sprintf("Write with %v", s.token)
				err = f.Write(ctx, b.key, s.token, what)
				if s.want == nil {
					want = what
				}
			}
			if err := errors.Join(is(what, err, s.want), b.holds(ctx, f, what, want)); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds returns an error unless the content of the key is want.
func (b bench) holds(ctx context.Context, f Fence, what, want string) error {
	got, err := f.Read(ctx, b.key)
	if err == nil && got != want {
		err = fmt.Errorf("after %s: the content is %q, want %q", what, got, want)
	}
	return err
}

func order(ctx context.Context, b bench) error {
	return b.walk(ctx, b.open(), step{5, nil}, step{5, nil}, step{4, distlock.ErrStale}, step{7, nil},
		step{5, distlock.ErrStale}, step{7, nil}, step{6, distlock.ErrStale}, step{10, nil}, step{9, distlock.ErrStale})
}

func bounds(ctx context.Context, b bench) error {
	return b.walk(ctx, b.open(), step{0, distlock.ErrInvalid}, step{1, nil}, step{math.MaxInt64 + 1, distlock.ErrInvalid},
		step{math.MaxUint64, distlock.ErrInvalid}, step{1<<53 + 1, nil}, step{1 << 53, distlock.ErrStale},
		step{math.MaxInt64 - 1, nil}, step{math.MaxInt64, nil}, step{math.MaxInt64 - 1, distlock.ErrStale},
		step{0, distlock.ErrInvalid})
}

func takeOver(ctx context.Context, b bench) error {
	old, young := b.open(), b.open()
	return errors.Join(
		is("Advance with 5", old.Advance(ctx, b.key, 5), nil),
		is("Write with 5", old.Write(ctx, b.key, 5, "old"), nil),
		is("Advance with 6", young.Advance(ctx, b.key, 6), nil),
		is("Write with 5", old.Write(ctx, b.key, 5, "late"), distlock.ErrStale),
		is("Advance with 5", old.Advance(ctx, b.key, 5), distlock.ErrStale),
		b.holds(ctx, young, "the take-over", "old"),
		is("Write with 6", young.Write(ctx, b.key, 6, "young"), nil),
		is("Write with 5", old.Write(ctx, b.key, 5, "late"), distlock.ErrStale),
		b.holds(ctx, young, "the late write", "young"),
	)
}

func holderGoesOn(ctx context.Context, b bench) error {
	old, young := b.open(), b.open()
	err := is("Advance with 9", young.Advance(ctx, b.key, 9), nil)
	for i := range 3 {
		err = errors.Join(err,
			is("Write with 8", old.Write(ctx, b.key, 8, "late"), distlock.ErrStale),
			is("Write with 9", young.Write(ctx, b.key, 9, fmt.Sprint(i)), nil),
			b.holds(ctx, old, "it", fmt.Sprint(i)))
	}
	return err
}

func keys(ctx context.Context, b bench) error {
	f := b.open()
	names := []string{b.key, b.key + "a", b.key + "A", b.key + "ä", b.key + "%", b.key + "%25", b.key + "=", b.key + "=25"}
	var err error
	for i, key := range names { // falling: one that shares a mark is refused
		err = errors.Join(err, is(fmt.Sprintf("Write(%q)", key), f.Write(ctx, key, distlock.Token(len(names)-i), key), nil))
	}
	for i, key := range names {
		err = errors.Join(err, bench{b.Harness, key}.holds(ctx, f, "all writes", key))
		if i < len(names)-1 {
			err = errors.Join(err, is(key, f.Write(ctx, key, 1, "late"), distlock.ErrStale))
		}
	}
	return err
}

func failedWrite(ctx context.Context, b bench) error {
	f := b.open()
	if f.Fail == nil {
		return nil
	}
	err := is("Write with 5", f.Write(ctx, b.key, 5, "before"), nil)
	switch got := f.Fail(ctx, b.key, 6); {
	case got == nil:
		return errors.New("the write that fails did not")
	case errors.Is(got, distlock.ErrStale) || errors.Is(got, distlock.ErrInvalid):
		return fmt.Errorf("got %v, want an error of the store's own", got)
	}
	want := distlock.ErrStale
	if b.RollsBack {
		want = nil
	}
	return errors.Join(err, b.holds(ctx, f, "a write that failed", "before"),
		is("Advance with the token before", f.Advance(ctx, b.key, 5), want),
		is("Advance with its token", f.Advance(ctx, b.key, 6), nil))
}

func endedContext(ctx context.Context, b bench) error {
	if b.NoContext {
		return nil
	}
	f := b.open()
	err := is("Write with 5", f.Write(ctx, b.key, 5, "before"), nil)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return errors.Join(err,
		is("Write with 6", f.Write(ended, b.key, 6, "after"), context.Canceled),
		is("Advance with 6", f.Advance(ended, b.key, 6), context.Canceled),
		b.holds(ctx, f, "it", "before"),
		is("Advance with 5", f.Advance(ctx, b.key, 5), nil))
}

func sources(ctx context.Context, b bench) error {
	ours, theirs := b.open(), b.Open("one other")
	if ours.Reset == nil {
		return nil
	}
	err := is("Write with 100", theirs.Write(ctx, b.key, 100, "theirs"), nil)
	return errors.Join(err, b.walk(ctx, ours, step{1, distlock.ErrSource}, step{100, distlock.ErrSource}, step{101, distlock.ErrSource}),
		b.walk(ctx, theirs, step{99, distlock.ErrStale}, step{100, nil}))
}

func reset(ctx context.Context, b bench) error {
	ours, theirs := b.open(), b.Open("one other")
	if ours.Reset == nil {
		return nil
	}
	return errors.Join(
		is("Reset of no mark", theirs.Reset(ctx, b.key), nil),
		is("another source", ours.Advance(ctx, b.key, 1), distlock.ErrSource),
		is("Write with 100", theirs.Write(ctx, b.key, 100, "theirs"), nil),
		is("Reset", ours.Reset(ctx, b.key), nil),
		b.holds(ctx, ours, "Reset", "theirs"),
		is("the source before", theirs.Write(ctx, b.key, 101, "late"), distlock.ErrSource),
		b.walk(ctx, ours, step{1, nil}, step{3, nil}, step{2, distlock.ErrStale}),
		is("Reset of the same source", ours.Reset(ctx, b.key), nil),
		b.walk(ctx, ours, step{2, nil}, step{1, distlock.ErrStale}),
	)
}

func lateReset(ctx context.Context, b bench) error {
	ours, theirs := b.open(), b.Open("one other")
	if ours.LateReset == nil {
		return nil
	}
	var during error
	overtaken := ours.LateReset(ctx, b.key, func() {
		during = is("a first mark", ours.Advance(ctx, b.key, 7), nil)
	})
	err := errors.Join(during, is("a Reset of no mark", overtaken, nil),
		is("the mark that came before it", ours.Advance(ctx, b.key, 6), distlock.ErrStale))

	b.key += "-theirs"
	err = errors.Join(err, is("Write with 100", theirs.Write(ctx, b.key, 100, "theirs"), nil))
	overtaken = ours.LateReset(ctx, b.key, func() {
		during = errors.Join(is("Reset", ours.Reset(ctx, b.key), nil), is("the new holder", ours.Write(ctx, b.key, 7, "ours"), nil))
	})
	err = errors.Join(err, during, is("a second Reset", overtaken, nil), b.holds(ctx, ours, "it", "ours"),
		is("who came before the new holder", ours.Write(ctx, b.key, 6, "late"), distlock.ErrStale),
		is("the new holder", ours.Write(ctx, b.key, 7, "ours again"), nil))

	b.key += "-still"
	err = errors.Join(err, is("Write with 100", theirs.Write(ctx, b.key, 100, "theirs"), nil))
	overtaken = ours.LateReset(ctx, b.key, func() {
		during = is("the source before", theirs.Write(ctx, b.key, 101, "theirs"), nil)
	})
	err = errors.Join(err, during, is("Reset", overtaken, nil),
		is("the source before", theirs.Write(ctx, b.key, 102, "late"), distlock.ErrSource),
		is("after Reset", ours.Advance(ctx, b.key, 1), nil))

	b.key += "-raised" // a service that was restored, and a holder from before
	err = errors.Join(err, is("before the Reset", ours.Advance(ctx, b.key, 1000), nil))
	overtaken = ours.LateReset(ctx, b.key, func() {
		during = is("an old holder", ours.Advance(ctx, b.key, 1001), nil)
	})
	return errors.Join(err, during, is("Reset of its own source", overtaken, nil),
		is("the restored service's first token", ours.Advance(ctx, b.key, 1), nil))
}

func damage(ctx context.Context, b bench) error {
	f := b.open()
	if b.Spoil == nil {
		return nil
	}
	for _, text := range []string{
		"", " ", "one", "one ", "one x", "one 05", "one -5", "one 5 ", "one 5\n", " 5", "5",
		"one\x01 5", strings.Repeat("a", 129) + " 5", "\xff\xfe 5",
	} {
		err := errors.Join(f.Reset(ctx, b.key), f.Write(ctx, b.key, 5, "before"), b.Spoil(ctx, b.key, text))
		if err != nil {
			return err
		}
		for name, err := range map[string]error{
			"Advance": f.Advance(ctx, b.key, 6), "Write": f.Write(ctx, b.key, 6, "x"), "the holder's": f.Write(ctx, b.key, 5, "x"),
		} {
			// Some look like those of another source.
			if errors.Is(err, distlock.ErrStale) || !errors.Is(err, distlock.ErrInvalid) {
				return fmt.Errorf("%s with the mark %q: got %v, want ErrInvalid", name, text, err)
			}
		}
		err = errors.Join(b.holds(ctx, f, "writes with a damaged mark", "before"),
			is("Reset", f.Reset(ctx, b.key), nil), is("after Reset", f.Advance(ctx, b.key, 1), nil))
		if err != nil {
			return err
		}
	}
	return nil
}

func message(ctx context.Context, b bench) error {
	f := b.open()
	err := is("Advance with 2", f.Advance(ctx, b.key, 2), nil)
	for _, t := range []distlock.Token{0, 1} {
		if got := fmt.Sprint(f.Advance(ctx, b.key, t)); !strings.HasPrefix(got, fmt.Sprintf("distlock: fence %q", b.key)) {
			err = errors.Join(err, fmt.Errorf("got %q", got))
		}
	}
	return err
}
