package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// broken is a peer that lets everybody in.
func broken(fails error) rival {
	return rival{service: "memory", name: "broken", module: "none", open: func(context.Context, string, time.Duration) (*contender, error) {
		return &contender{
			lock: func(context.Context, string) (distlock.Token, func(context.Context) error, error) {
				return 0, func(context.Context) error { return nil }, fails
			},
			close: func() {},
		}, nil
	}}
}

// What is wrong with a peer is counted and printed.
func TestFailuresOfAPeer(t *testing.T) {
	p := quick
	p.contest = 50 * time.Millisecond
	errBusy := errors.New("the peer's own error")
	for _, c := range []struct {
		name  string
		fails error
		want  string
	}{
		{"two holders", nil, errUnsafe.Error()},
		{"an error", errBusy, errBusy.Error()},
	} {
		lines, err := contest(t.Context(), p, broken(c.fails), "")
		if err != nil {
			t.Fatalf("%s: got %v, want it to be counted", c.name, err)
		}
		if lines[0].Failures == 0 || !strings.Contains(lines[0].LastFailure, c.want) {
			t.Errorf("%s: got %d failures, the last %q, want some of %q", c.name, lines[0].Failures, lines[0].LastFailure, c.want)
		}
		var out strings.Builder
		printTables(&out, lines)
		if !strings.Contains(out.String(), "failures of memory: broken") || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: got no word of it in\n%s", c.name, &out)
		}
	}
}

// What is wrong with distlock ends the program.
func TestFailuresOfOurs(t *testing.T) {
	p := quick
	p.contest, p.bound = 50*time.Millisecond, 100*time.Millisecond
	ours := broken(nil)
	ours.module = ""
	if _, err := contest(t.Context(), p, ours, ""); !errors.Is(err, errUnsafe) {
		t.Errorf("fairness: got %v, want %v", err, errUnsafe)
	}
	ours = broken(errors.New("down"))
	ours.module = ""
	if _, err := contest(t.Context(), p, ours, ""); err == nil {
		t.Error("fairness: got nil, want the error of the lock")
	}
}

// A release that fails does not leave the key taken.
func TestMend(t *testing.T) {
	var mended []string
	c := &contender{tally: new(tally), mend: func(_ context.Context, key string) error {
		mended = append(mended, key)
		return nil
	}}
	if ok, err := c.tolerate(t.Context(), "k", errGone); ok || err != nil {
		t.Errorf("got %v, %v, want false, nil", ok, err)
	}
	if ok, err := c.tolerate(t.Context(), "k", nil); !ok || err != nil {
		t.Errorf("got %v, %v for no error, want true, nil", ok, err)
	}
	if !slices.Equal(mended, []string{"k"}) {
		t.Errorf("got %v mended, want k once", mended)
	}
}

// Memory needs no server: contest, crowd and scale run on it everywhere.
func TestOnMemory(t *testing.T) {
	p := quick
	for _, s := range []string{serverEnv, etcdEnv, zooKeeperEnv, consulEnv, postgresEnv} {
		t.Setenv(s, "")
	}
	var out strings.Builder
	doc := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(doc, []byte("before\n"+figuresBegin+"old\n"+figuresEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), p, "^(fairness|waiters|scale)$", files{doc: doc}, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + figuresBegin + out.String() + figuresEnd + "after\n"; string(text) != want {
		t.Errorf("got the document\n%s\nwant\n%s", text, want)
	}
}

func TestDocumentWithoutMarks(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(doc, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (result{about: []string{""}}).writeInto(doc); err == nil {
		t.Error("got nil for a document without marks, want an error")
	}
}

// Every peer says which version it is, and what the defaults are.
func TestPeersAreNamed(t *testing.T) {
	for _, r := range rivals {
		if r.ours() {
			continue
		}
		if r.terms == "" || !strings.Contains(r.about(), r.module+" v") {
			t.Errorf("%v: got %q, want its module, version and defaults", r, r.about())
		}
	}
}
