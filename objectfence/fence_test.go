package objectfence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/objectfence"
)

func is(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// to is a change to a fixed content.
func to(content string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(content), nil }
}

// add is a change that adds 1 to a number.
func add(old []byte) ([]byte, error) {
	n, _ := strconv.Atoi(string(old))
	return strconv.AppendInt(nil, int64(n+1), 10), nil
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "etcd eu"})
	for _, step := range []struct {
		name  string
		token distlock.Token
		want  error
	}{
		{"k", 0, distlock.ErrInvalid},
		{"k", 5, nil},
		{"k", 5, nil},
		{"k", 4, distlock.ErrStale},
		{"other", 1, nil},
		{"k", 7, nil},
		{"k", 5, distlock.ErrStale},
		{"k", math.MaxInt64 + 1, distlock.ErrInvalid},
		{"k", math.MaxInt64, nil},
		{"k", math.MaxInt64 - 1, distlock.ErrStale},
	} {
		what := fmt.Sprintf("(%q, %v)", step.name, step.token)
		before := string(s.objects[step.name])
		is(t, "Advance"+what, f.Advance(ctx, step.name, step.token), step.want)
		content := "written with " + step.token.String() + "\nand more\n"
		is(t, "Update"+what, f.Update(ctx, step.name, step.token, to(content)), step.want)
		if after := string(s.objects[step.name]); step.want != nil && after != before {
			t.Errorf("%s: refused, and the object is now %q", what, after)
		}
		if got, err := f.Read(ctx, step.name); step.want == nil && (string(got) != content || err != nil) {
			t.Errorf("Read: got %q, %v, want %q", got, err, content)
		}
	}
	puts := s.puts
	is(t, "Advance", f.Advance(ctx, "k", math.MaxInt64), nil)
	if s.puts != puts {
		t.Error("an Advance with an equal token writes")
	}
	_, err := f.Read(ctx, "none")
	is(t, "Read", err, fs.ErrNotExist)
}

func TestSources(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	ours, theirs := objectfence.New(s, objectfence.Options{Source: "a"}), objectfence.New(s, objectfence.Options{Source: "b"})
	is(t, "Update", theirs.Update(ctx, "k", 100, to("content")), nil)
	for _, token := range []distlock.Token{1, 100, 101} {
		is(t, "Advance", ours.Advance(ctx, "k", token), distlock.ErrSource)
		is(t, "Update", ours.Update(ctx, "k", token, to("x")), distlock.ErrSource)
	}
	is(t, "Reset", ours.Reset(ctx, "k"), nil)
	is(t, "the old source", theirs.Advance(ctx, "k", 101), distlock.ErrSource)
	is(t, "the new source", ours.Advance(ctx, "k", 1), nil)
	if got, err := theirs.Read(ctx, "k"); string(got) != "content" || err != nil {
		t.Errorf("after Reset: got %q, %v", got, err)
	}
}

// An object that was there before the fence is brought under it by hand.
func TestObjectWithoutMark(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	const id = "0123456789abcdef"
	for i, body := range []string{
		"", "\n", "{}", "distlock-mark 1 \n", "distlock-mark 2 1 " + id + " a\nx", "distlock-mark 1 01 " + id + " a\nx",
		"distlock-mark 1 1 " + id + " a", "distlock-mark 1 1 " + strings.ToUpper(id) + " a\n", "distlock-mark 1 1 0123 a\n",
		"distlock-mark 1 1 " + id + " \n", "distlock-mark 1 1  a\n", "distlock-mark 1 1 " + id + ", a\n",
		"distlock-mark 1 1 " + strings.Repeat(id+",", 16) + id + " a\n", "distlock-mark 1 -1 " + id + " a\n",
		"distlock-mark 1 9223372036854775808 " + id + " a\n", "distlock-mark 1 1 " + id + " \xff\n",
		"distlock-mark 1 1 " + id + " " + strings.Repeat("a", 129) + "\n",
	} {
		name := strconv.Itoa(i)
		s.objects[name] = []byte(body)
		is(t, body, f.Advance(ctx, name, 5), distlock.ErrInvalid)
		is(t, body, f.Update(ctx, name, 5, to("x")), distlock.ErrInvalid)
		_, err := f.Read(ctx, name)
		is(t, body, err, distlock.ErrInvalid)
		if string(s.objects[name]) != body {
			t.Errorf("%q was changed to %q", body, s.objects[name])
		}
		is(t, body, f.Reset(ctx, name), nil)
		if got, err := f.Read(ctx, name); string(got) != body || err != nil {
			t.Errorf("%q after Reset: got %q, %v", body, got, err)
		}
		is(t, body, f.Advance(ctx, name, 1), nil)
	}
}

// A write whose condition was true when it was sent, but which arrives after a
// take-over, finds another tag: also where the take-over changed no content.
func TestTakeOverChangesTheTag(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	is(t, "Update", f.Update(ctx, "k", 5, to("100")), nil)
	for range 2 { // a larger token, then an equal one that writes the same content
		_, tag, _ := s.Get(ctx, "k")
		is(t, "Update", f.Update(ctx, "k", 6, to("100")), nil)
		if s.put("k", []byte("late"), tag) {
			t.Error("the late write's tag still matches")
		}
	}
	_, tag, _ := s.Get(ctx, "k")
	is(t, "Advance", f.Advance(ctx, "k", 7), nil)
	if s.put("k", []byte("late"), tag) {
		t.Error("the late write's tag still matches after Advance")
	}
}

func TestStaleBetweenReadAndPut(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	is(t, "Update", f.Update(ctx, "k", 5, to("100")), nil)
	s.before = func(n int) error {
		if n == 2 {
			is(t, "the take-over", f.Advance(ctx, "k", 6), nil)
		}
		return nil
	}
	is(t, "the late Update", f.Update(ctx, "k", 5, to("late")), distlock.ErrStale)
	if got, _ := f.Read(ctx, "k"); string(got) != "100" {
		t.Errorf("got %q", got)
	}
}

func TestConflictIsRepeated(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	s.before = func(n int) error {
		if n%3 != 0 {
			return fmt.Errorf("409: %w", objectfence.ErrConflict)
		}
		return nil
	}
	is(t, "Advance", f.Advance(ctx, "k", 1), nil)
	is(t, "Update", f.Update(ctx, "k", 1, add), nil)
	is(t, "Reset", f.Reset(ctx, "k"), nil)
	if got, _ := f.Read(ctx, "k"); string(got) != "1" || s.puts != 9 {
		t.Errorf("got %q after %d puts, want 1 after 9", got, s.puts)
	}
	always := func(int) error { return objectfence.ErrConflict }
	s.before = always
	is(t, "an endless conflict", f.Update(ctx, "k", 1, add), objectfence.ErrConflict)
	ctx, cancel := context.WithCancel(ctx)
	s.before = func(int) error { cancel(); return objectfence.ErrConflict }
	is(t, "a ctx that ends", f.Update(ctx, "k", 1, add), context.Canceled)
}

// A client library sends a put again whose reply was lost, and is told that the
// condition does not hold. The write is not done twice, whatever came between.
func TestLostReply(t *testing.T) {
	t.Parallel()
	for between, want := range map[int]error{0: nil, 1: nil, 15: nil, 16: errUnknown} {
		for _, token := range []distlock.Token{5, 6} {
			ctx, s := t.Context(), newStore()
			f := objectfence.New(s, objectfence.Options{Source: "a"})
			is(t, "Update", f.Update(ctx, "k", 5, add), nil)
			s.after = func(n int) error {
				if n != 2 {
					return nil
				}
				for range between {
					is(t, "a write between", f.Update(ctx, "k", token, add), nil)
				}
				return objectfence.ErrPrecondition
			}
			err := f.Update(ctx, "k", 5, add)
			if want == nil {
				is(t, "Update", err, nil)
			} else if err == nil || errors.Is(err, distlock.ErrStale) || errors.Is(err, objectfence.ErrPrecondition) {
				t.Errorf("%d writes between: got %v, want unknown", between, err)
			}
			if got, _ := f.Read(ctx, "k"); string(got) != strconv.Itoa(2+between) {
				t.Errorf("%d writes between: got %s, want %d", between, got, 2+between)
			}
		}
	}
}

// Reset too is told that its put was refused, when a client library sent it again.
// Meanwhile the new holder has come, and perhaps another Reset.
func TestLostReplyOfReset(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{objectfence.ErrPrecondition, objectfence.ErrConflict} {
		for name, between := range map[string]func(ours, theirs *objectfence.Fence) error{
			"nothing":        func(ours, _ *objectfence.Fence) error { return nil },
			"the new holder": func(ours, _ *objectfence.Fence) error { return ours.Advance(t.Context(), "k", 7) },
			"another Reset":  func(_, theirs *objectfence.Fence) error { return theirs.Reset(t.Context(), "k") },
		} {
			ctx, s := t.Context(), newStore()
			ours := objectfence.New(s, objectfence.Options{Source: "a"})
			theirs := objectfence.New(s, objectfence.Options{Source: "b"})
			is(t, "Update", theirs.Update(ctx, "k", 100, to("content")), nil)
			var after []byte
			s.after = func(n int) error {
				if n != 2 {
					return nil
				}
				is(t, name, between(ours, theirs), nil)
				after, _, _ = s.Get(ctx, "k")
				return answer
			}
			is(t, "Reset", ours.Reset(ctx, "k"), nil)
			if now, _, _ := s.Get(ctx, "k"); string(now) != string(after) {
				t.Errorf("%v, %s: Reset made %q of %q", answer, name, now, after)
			}
		}
	}
}

// The first of two requests of a put is carried out after the second was told that a
// write was under way, and after the fence has looked. The write is not done twice.
func TestLatePut(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), new(slowStore)
	s.store = newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	is(t, "Update", f.Update(ctx, "k", 5, add), nil)
	is(t, "Reset", f.Reset(ctx, "other"), nil)
	if got, _ := f.Read(ctx, "k"); string(got) != "1" || s.calls != 4 {
		t.Errorf("got %s after %d puts, want 1 after 4", got, s.calls)
	}
}

// A slowStore answers each second put before it does what the one before asked for.
type slowStore struct {
	*store
	calls int
	late  func()
}

func (s *slowStore) Put(ctx context.Context, name string, body []byte, ifMatch string) error {
	s.calls++
	if s.calls%2 == 1 {
		s.late = func() { s.put(name, bytes.Clone(body), ifMatch) }
		return objectfence.ErrConflict
	}
	s.late()
	return s.store.Put(ctx, name, body, ifMatch)
}

var errUnknown = errors.New("unknown")

func TestUnknownOutcomeIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	broken := errors.New("connection reset")
	s.after = func(int) error { return broken }
	is(t, "Update", f.Update(ctx, "k", 5, add), broken)
	if got, _ := f.Read(ctx, "k"); string(got) != "1" || s.puts != 1 {
		t.Errorf("got %q after %d puts", got, s.puts)
	}
}

func TestChangesOwnError(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	for _, own := range []error{errors.New("own"), objectfence.ErrPrecondition, objectfence.ErrConflict} {
		calls := 0
		err := f.Update(ctx, "k", 5, func([]byte) ([]byte, error) { calls++; return nil, own })
		if err != own || s.puts != 0 || calls != 1 {
			t.Errorf("got %v after %d calls, want change's own error, as it is, after 1", err, calls)
		}
	}
}

// No addition is lost or done twice, and no token is written after a larger one.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore()
	f := objectfence.New(s, objectfence.Options{Source: "a"})
	var mu sync.Mutex // guards added
	added := 0
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			token := distlock.Token(1 + i/20)
			err := f.Update(ctx, "k", token, func(old []byte) ([]byte, error) {
				n, last, _ := strings.Cut(string(old), " ")
				if was, _ := strconv.Atoi(last); was > int(token) {
					t.Errorf("%v reads what %v wrote", token, was)
				}
				sum, _ := add([]byte(n))
				return fmt.Appendf(sum, " %v", token), nil
			})
			switch {
			case err == nil:
				mu.Lock()
				added++
				mu.Unlock()
			case strings.Contains(err.Error(), "unknown"): // no reply was lost here: not carried out
			case !errors.Is(err, distlock.ErrStale) && !errors.Is(err, objectfence.ErrPrecondition):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, _ := f.Read(ctx, "k")
	if n, _, _ := strings.Cut(string(got), " "); n != strconv.Itoa(added) || added < 10 {
		t.Errorf("got %s, want the %d that were added", n, added)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var none *store
	_, read := objectfence.New(nil, objectfence.Options{Source: "a"}).Read(ctx, "k")
	with := func(source string) error {
		return objectfence.New(newStore(), objectfence.Options{Source: source}).Reset(ctx, "k")
	}
	for name, err := range map[string]error{
		"nil store":       read,
		"typed nil store": objectfence.New(none, objectfence.Options{Source: "a"}).Advance(ctx, "k", 1),
		"no source":       with(""), "line break": with("a\nb"), "long source": with(strings.Repeat("a", 129)),
		"nil change": objectfence.New(newStore(), objectfence.Options{Source: "a"}).Update(ctx, "k", 1, nil),
	} {
		is(t, name, err, distlock.ErrInvalid)
	}
}

// What is taken for an object with a mark is written the same again.
func FuzzContent(f *testing.F) {
	f.Add([]byte("distlock-mark 1 1757 0123456789abcdef,fedcba9876543210 etcd eu\ncontent\n"))
	f.Add([]byte("distlock-mark 1 0 0123456789abcdef a\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		content, err := objectfence.Content(body)
		if err != nil {
			is(t, "Content", err, distlock.ErrInvalid)
			return
		}
		line, found := bytes.CutSuffix(body, content)
		if !found || bytes.Count(line, []byte("\n")) != 1 || !bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("%q: content %q", body, content)
		}
	})
}
