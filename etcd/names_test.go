package etcd_test

import (
	"net/url"
	"strings"
	"testing"

	etcdlock "github.com/distlock-go/distlock/etcd"
)

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a", "a/b", "a%2Fb", "%", "/", "//", "%%", "a/", "é/%25", "%session/00"} {
		f.Add(s, s+"/")
		f.Add(s, "%"+s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ea, eb := etcdlock.Escape(a), etcdlock.Escape(b)
		if strings.Contains(ea, "/") {
			t.Errorf("Escape(%q) = %q has a slash", a, ea)
		}
		if back, err := url.PathUnescape(ea); err != nil || back != a {
			t.Errorf("Escape(%q) = %q reads back as %q, %v", a, ea, back, err)
		}
		if a != b && strings.HasPrefix(ea+"/", eb+"/") {
			t.Errorf("the directory of %q, %q, begins with that of %q, %q", a, ea, b, eb)
		}
		if strings.HasPrefix(ea+"/", "%session/") {
			t.Errorf("the directory of %q is that of the sessions", a)
		}
	})
}
