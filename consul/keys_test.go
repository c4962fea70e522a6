package consul_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

func TestEntryNames(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"invoice-77":  "p/invoice-77",
		"a/b.c_d":     "p/a/b.c_d",
		"/a":          "p/=2Fa",
		"a/":          "p/a=2F",
		"a//b":        "p/a/=2Fb",
		"../a/./..":   "p/=2E./a/=2E/=2E=2E",
		"a b?c=d%2F#": "p/a=20b=3Fc=3Dd=252F=23",
		"ü":           "p/=C3=BC",
	} {
		if got := consullock.EntryName("p/", key); got != want {
			t.Errorf("got %q for %q, want %q", got, key, want)
		}
	}
}

// safe are names that go through a URL's path unchanged.
var safe = regexp.MustCompile(`^p(/[A-Za-z0-9_=-][A-Za-z0-9_=.-]*)+$`)

func FuzzEntryName(f *testing.F) {
	for _, s := range []string{"a", "a/b", "//", "..", "a/../b", "=2F", "a.", "./"} {
		f.Add(s, s+"/")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == "" || b == "" {
			t.Skip("no key is empty")
		}
		na, nb := consullock.EntryName("p/", a), consullock.EntryName("p/", b)
		if !safe.MatchString(na) {
			t.Errorf("%q becomes %q", a, na)
		}
		if (na == nb) != (a == b) {
			t.Errorf("%q and %q become %q and %q", a, b, na, nb)
		}
	})
}

// Each of these goes through the agent's URLs, for the query of a waiter.
func TestOddKeysAreLockedAndWaitedFor(t *testing.T) {
	t.Parallel()
	opts := options()
	a, b := locks(t, consullock.New(connect(t), opts)), locks(t, consullock.New(connect(t), opts))
	for _, key := range []string{
		"/", "//", ".", "..", "a/../b", "a/./b", "/a/", "a?b=c#d", "%2e%2e", "a b+c", "\x01\x7f", "☃/ü", "a\\b",
		strings.Repeat("/", 512), strings.Repeat("ü", 256),
	} {
		l := acquire(t, a, key)
		if _, err := b.TryAcquire(t.Context(), key); !isHeld(err) {
			t.Errorf("%q: got %v, want ErrHeld", key, err)
		}
		got := make(chan time.Duration, 1)
		go func() {
			defer close(got)
			if next, err := b.Acquire(within(t, time.Minute), key); err == nil {
				release(t, next)
				got <- 0
			}
		}()
		release(t, l)
		if _, ok := <-got; !ok {
			t.Errorf("%q: the waiter got nothing", key)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	client, err := api.NewClient(api.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		client *api.Client
		opts   *consullock.Options
		terms  distlock.Terms
		ok     bool
	}{
		"no client":             {nil, nil, distlock.Terms{TTL: time.Minute}, false},
		"defaults":              {client, nil, distlock.Terms{TTL: time.Minute}, true},
		"shortest":              {client, nil, distlock.Terms{TTL: 10 * time.Second}, true},
		"too short":             {client, nil, distlock.Terms{TTL: 10*time.Second - 1}, false},
		"shorter, as an option": {client, &consullock.Options{MinTTL: time.Second}, distlock.Terms{TTL: time.Second}, true},
		"longest":               {client, nil, distlock.Terms{TTL: 24 * time.Hour}, true},
		"too long":              {client, nil, distlock.Terms{TTL: 24*time.Hour + 1}, false},
		"longest delay":         {client, nil, distlock.Terms{TTL: time.Minute, LockDelay: time.Minute}, true},
		"delay too long":        {client, nil, distlock.Terms{TTL: time.Minute, LockDelay: time.Minute + 1}, false},
		"MinTTL of nothing":     {client, &consullock.Options{MinTTL: 1}, distlock.Terms{TTL: time.Minute}, false},
		"MinTTL below 0":        {client, &consullock.Options{MinTTL: -1}, distlock.Terms{TTL: time.Minute}, false},
		"prefix of parts":       {client, &consullock.Options{Prefix: "a/b-c_d.e"}, distlock.Terms{TTL: time.Minute}, true},
		"prefix with a slash":   {client, &consullock.Options{Prefix: "/a/"}, distlock.Terms{TTL: time.Minute}, false},
		"prefix with two":       {client, &consullock.Options{Prefix: "a//"}, distlock.Terms{TTL: time.Minute}, false},
		"prefix with a step":    {client, &consullock.Options{Prefix: "a/../"}, distlock.Terms{TTL: time.Minute}, false},
		"prefix with others":    {client, &consullock.Options{Prefix: "a=/"}, distlock.Terms{TTL: time.Minute}, false},
		"prefix too long":       {client, &consullock.Options{Prefix: strings.Repeat("a", 129)}, distlock.Terms{TTL: time.Minute}, false},
	} {
		_, err := consullock.New(c.client, c.opts).Check(c.terms)
		if (err == nil) != c.ok || err != nil && !isInvalid(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	got, err := consullock.New(client, nil).Check(distlock.Terms{TTL: 10*time.Second + 1, LockDelay: distlock.UnsetLockDelay})
	want := distlock.Terms{TTL: 10*time.Second + time.Millisecond, LockDelay: 15 * time.Second}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
