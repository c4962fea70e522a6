package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
)

func tokens(t *testing.T, out string) (found []distlock.Token) {
	t.Helper()
	for _, m := range regexp.MustCompile(`token (\d+):`).FindAllStringSubmatch(out, -1) {
		tok, err := distlock.ParseToken(m[1])
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, tok)
	}
	return found
}

// checkStory runs the command and checks what a reader is to see.
func checkStory(t *testing.T, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, new(distlock.Fence), &out, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("got exit status %d, want 0\n%s%s", code, out.String(), errs.String())
	}
	text := out.String()
	for _, want := range []string{"refused, ", "debited once, the balance is 40", "debited 2 times, the balance is -20"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("got %d times %q, want 1\n%s", strings.Count(text, want), want, text)
		}
	}
	seen := tokens(t, text)
	if len(seen) != 4 || seen[0] >= seen[1] || seen[2] >= seen[3] {
		t.Errorf("got tokens %v, want two pairs that rise", seen)
	}
	if n := strings.Count(text, "\n"); n > 16 {
		t.Errorf("got %d lines, want at most 16", n)
	}
}

func TestStoryInMemory(t *testing.T) {
	t.Parallel()
	checkStory(t)
}

// The README shows what the command prints, but for how long B waits.
func TestReadmeShowsTheOutput(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```text\n(.*?)```").FindSubmatch(readme)
	if shown == nil {
		t.Fatal("got no block of text in README.md, want one")
	}
	var out, errs bytes.Buffer
	if code := run(nil, new(distlock.Fence), &out, &errs); code != 0 {
		t.Fatalf("got exit status %d, want 0\n%s", code, errs.String())
	}
	wait := regexp.MustCompile(`after [0-9.]+m?s`)
	got, want := wait.ReplaceAllString(out.String(), "after"), wait.ReplaceAllString(string(shown[1]), "after")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStoryOnRedis(t *testing.T) {
	t.Parallel()
	addr := os.Getenv("DISTLOCK_TEST_REDIS")
	switch {
	case addr != "":
		checkStory(t, "-redis", addr)
	case os.Getenv("DISTLOCK_TEST_REQUIRE") != "":
		t.Fatal("DISTLOCK_TEST_REDIS is not set")
	default:
		t.Skip("DISTLOCK_TEST_REDIS is not set: no server to test with (make test starts them)")
	}
}

// A fence that lets everything pass must not go unnoticed.
func TestBrokenFenceFails(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(nil, noGuard{}, &out, &errs); code != 1 {
		t.Fatalf("got exit status %d, want 1\n%s", code, out.String())
	}
	if want := "did not come true: worker A's late write got <nil>"; !strings.Contains(errs.String(), want) {
		t.Errorf("got %q, want %q in it", errs.String(), want)
	}
}

// refuseAll is broken the other way.
type refuseAll struct{ guard }

func (refuseAll) Do(string, distlock.Token, func() error) error { return distlock.ErrStale }

func TestFenceThatRefusesTheHolderFails(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(nil, refuseAll{noGuard{}}, &out, &errs); code != 1 {
		t.Fatalf("got exit status %d, want 1\n%s", code, out.String())
	}
}

func TestCheckKnowsEveryWrongEnding(t *testing.T) {
	good := ending{a: 1, b: 2, late: distlock.ErrStale, release: distlock.ErrLost, balance: 40}
	if err := good.check(40, distlock.ErrStale); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*ending){
		"equal tokens":     func(e *ending) { e.b = e.a },
		"write let pass":   func(e *ending) { e.late = nil },
		"write lost":       func(e *ending) { e.late = distlock.ErrLost },
		"lease still good": func(e *ending) { e.release = nil },
		"wrong balance":    func(e *ending) { e.balance = -20 },
	} {
		bad := good
		spoil(&bad)
		if bad.check(40, distlock.ErrStale) == nil {
			t.Errorf("%s: got nil, want an error", name)
		}
	}
	if good.check(40, nil) == nil {
		t.Error("a refusal where none is due: got nil, want an error")
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		errs string
	}{
		{[]string{"-h"}, 0, "HOST:PORT"},
		{[]string{"-nonsense"}, 2, "usage:"},
		{[]string{"127.0.0.1:6379"}, 2, "usage:"},
		{[]string{"-redis", "127.0.0.1:1"}, 1, "no use: dial tcp 127.0.0.1:1: connect: connection refused"}, // nobody listens there
	} {
		var out, errs bytes.Buffer
		if code := run(c.args, noGuard{}, &out, &errs); code != c.code {
			t.Errorf("%v: got exit status %d, want %d", c.args, code, c.code)
		}
		if !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%v: got %q, want %q in it", c.args, errs.String(), c.errs)
		}
	}
}
