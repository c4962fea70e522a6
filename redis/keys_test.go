package redis

import (
	"errors"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisscript"
)

// hashed is the part of a key that a Cluster hashes, as its specification
// says: what is between the first { and the first } after it, unless that is
// nothing.
func hashed(key string) string {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// escape returns what stands for key in the names of its lock.
func escape(key string) string {
	lock := redisscript.LockName("", key)
	return lock[1 : len(lock)-1]
}

func FuzzNames(f *testing.F) {
	for _, k := range []string{"a", "invoice/42", "{a}b", "a{}", "}{", "{", "}", "%7B", "%", "a}:token", "{a}:free", "é"} {
		f.Add(k, "a")
		f.Add(k, k+":token")
		f.Add(k, "{"+k+"}")
		f.Add(k, escape(k))
	}
	b := New(nil, nil)
	f.Fuzz(func(t *testing.T, x, y string) {
		if x == "" || y == "" {
			t.Skip()
		}
		lock := b.lockName(x)
		counter := lock + redisscript.CounterSuffix
		channel := lock + redisscript.ChannelSuffix
		if !strings.HasPrefix(counter, lock) {
			t.Errorf("%q: the counter %q does not begin with the lock %q", x, counter, lock)
		}
		for _, name := range []string{lock, counter, channel} {
			if got, want := hashed(name), escape(x); got != want {
				t.Errorf("%q: %q hashes by %q, want %q", x, name, got, want)
			}
		}
		if x == y {
			return
		}
		others := make(map[string]bool)
		otherLock := b.lockName(y)
		otherCounter := otherLock + redisscript.CounterSuffix
		for _, name := range []string{otherLock, otherCounter, otherLock + redisscript.ChannelSuffix} {
			others[name] = true
		}
		for _, name := range []string{lock, counter, channel} {
			if others[name] {
				t.Errorf("%q and %q share the name %q", x, y, name)
			}
		}
		if strings.HasPrefix(otherLock, lock) {
			t.Errorf("the lock of %q, %q, is a prefix of that of %q, %q", x, lock, y, otherLock)
		}
	})
}

func TestReadableNames(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"invoice/42": "distlock:{invoice/42}",
		"a{b}c":      "distlock:{a%7Bb%7Dc}",
		"100%":       "distlock:{100%25}",
	} {
		lock := New(nil, nil).lockName(key)
		counter := lock + redisscript.CounterSuffix
		if lock != want || counter != want+":token" {
			t.Errorf("key %q: got %q and %q, want %q", key, lock, counter, want)
		}
	}
}

func FuzzMark(f *testing.F) {
	for _, k := range []string{"a", "{a}", "{a}b", "a{b}c", "{}a", "{", "}", "a}b", "fence:{a}", "{{a}}", ":{a}"} {
		f.Add(k, "a")
		f.Add(k, "{"+k+"}")
	}
	fence := NewFence(nil, FenceOptions{})
	f.Fuzz(func(t *testing.T, x, y string) {
		mark, err := fence.mark(x)
		if err != nil {
			if !errors.Is(err, distlock.ErrInvalid) {
				t.Errorf("%q: got %v, want ErrInvalid", x, err)
			}
			return
		}
		if hashed(mark) != hashed(x) {
			t.Errorf("%q hashes by %q, its mark %q by %q", x, hashed(x), mark, hashed(mark))
		}
		if other, err := fence.mark(y); err == nil && (other == mark) != (x == y) {
			t.Errorf("%q and %q share the mark %q", x, y, mark)
		}
	})
}

// A lock's names and a fence's marks may be on one server, under any prefixes.
func FuzzMarkIsNoLock(f *testing.F) {
	for _, c := range [][4]string{
		{"distlock:", "distlock:", "a", "a"},
		{"distlock:fence:", "distlock:", "a", "a"},
		{"distlock:fence::x", "distlock:", "a", "x{a}"},
		{"distlock:fence::x", "distlock:", "a", "x{a}:token"},
		{"fence:", "", "a:mark", "a"},
		{"fence::{a}", "", "a", "{a}{a}"},
	} {
		f.Add(c[0], c[1], c[2], c[3])
	}
	f.Fuzz(func(t *testing.T, locks, marks, key, resource string) {
		if redisscript.CheckPrefix(locks) != nil || redisscript.CheckPrefix(marks) != nil || key == "" {
			return
		}
		lock := (&Backend{prefix: locks}).lockName(key)
		counter := lock + redisscript.CounterSuffix
		if mark, err := (&Fence{prefix: marks}).mark(resource); err == nil && (mark == lock || mark == counter) {
			t.Errorf("the lock on %q under %q and the mark of %q under %q share %q", key, locks, resource, marks, mark)
		}
	})
}
