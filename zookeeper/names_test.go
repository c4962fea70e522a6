package zookeeper_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
)

func TestEscape(t *testing.T) {
	for key, want := range map[string]string{
		"invoice-77": "invoice-77", "a/b": "a%2Fb", "/": "%2F", ".": "%2E", "..": "%2E.", "a..": "a..", "ü": "%C3%BC",
		"100%": "100%25", "a b": "a%20b", "a\x01": "a%01", "zookeeper": "zookeeper", "{}": "%7B%7D",
	} {
		if got := zklock.Escape(key); got != want {
			t.Errorf("Escape(%q): got %q, want %q", key, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, key := range []string{"a", "/", "..", "%", "%2F", "ü", "鍵", "\ufffd", "a/../b"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		e := zklock.Escape(key)
		if back, err := url.PathUnescape(e); err != nil || back != key {
			t.Errorf("%q is escaped to %q, which is %q, %v", key, e, back, err)
		}
		if strings.ContainsAny(e, "/") || e == "." || e == ".." {
			t.Errorf("%q is escaped to %q", key, e)
		}
		for _, r := range e {
			if r <= ' ' || r >= 0x7f {
				t.Errorf("%q is escaped to %q, which has %q", key, e, r)
			}
		}
	})
}

// The server counts from 2147483647 on to -2147483648, with %010d.
func TestSequenceOverTheWrap(t *testing.T) {
	order := []string{"2147483645", "2147483646", "2147483647", "-2147483648", "-2147483647", "-000000001", "0000000000", "0000000001"}
	owner := distlock.NewOwner()
	for i := range order[:5] {
		for j := range order[:5] {
			a, okA := zklock.Sequence(zklock.NodeName(owner, order[i]))
			b, okB := zklock.Sequence(zklock.NodeName(owner, order[j]))
			if !okA || !okB || zklock.Before(a, b) != (i < j) {
				t.Errorf("%s before %s: got %v, want %v", order[i], order[j], zklock.Before(a, b), i < j)
			}
		}
	}
	for i := range order[5:7] { // and from -1 on to 0
		a, _ := zklock.Sequence(zklock.NodeName(owner, order[5+i]))
		b, _ := zklock.Sequence(zklock.NodeName(owner, order[6+i]))
		if !zklock.Before(a, b) || zklock.Before(b, a) {
			t.Errorf("%s is not before %s", order[5+i], order[6+i])
		}
	}
}

func TestPredecessor(t *testing.T) {
	name := func(sequence string) string { return zklock.NodeName(distlock.NewOwner(), sequence) }
	a, b, c, d := name("2147483646"), name("2147483647"), name("-2147483648"), name("-2147483647")
	foreign := []string{"lock-0000000001", "_c_0f-lock-0000000000", "x", name("zero"), name(""), name("99999999999")}
	for _, test := range []struct {
		own   string
		names []string
		want  string
		gone  bool
	}{
		{own: a, names: []string{a}},
		{own: a, names: []string{d, c, b, a}},
		{own: b, names: []string{d, c, b, a}, want: a},
		{own: c, names: []string{d, c, b, a}, want: b},
		{own: d, names: []string{a, b, c, d}, want: c},
		{own: d, names: []string{a, d}, want: a},
		{own: a, names: append(foreign, a)},
		{own: a, names: []string{b, c}, gone: true},
		{own: a, gone: true},
	} {
		got, err := zklock.Predecessor("/r/k", test.own, test.names)
		if want := "/r/k/" + test.want; (err != nil) != test.gone || got != want && (got != "" || test.want != "") {
			t.Errorf("before %s of %d: got %q, %v; want %q", test.own[40:], len(test.names), got, err, test.want)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	owner := distlock.NewOwner()
	if got, ok := zklock.OwnerOf("/distlock/a/" + zklock.NodeName(owner, "-2147483648")); !ok || got != owner {
		t.Error("the owner of a node of its own is not found")
	}
	for _, path := range []string{"/", "", "/distlock/a", "/distlock/" + strings.Repeat("z", 40) + "-0000000001"} {
		if _, ok := zklock.OwnerOf(path); ok {
			t.Errorf("%q has an owner", path)
		}
	}
}
