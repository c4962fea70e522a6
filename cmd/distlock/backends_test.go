//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
)

// On each backend the command runs under the lock and has its token.
func TestBackends(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ env, ttl string }{
		"redis":     {"DISTLOCK_TEST_REDIS", "10s"},
		"redlock":   {"DISTLOCK_TEST_REDLOCK", "10s"},
		"etcd":      {"DISTLOCK_TEST_ETCD", "10s"},
		"zookeeper": {"DISTLOCK_TEST_ZOOKEEPER", "4s"}, // the most that a tick of 200 ms allows
		"consul":    {"DISTLOCK_TEST_CONSUL", "10s"},
		"postgres":  {"DISTLOCK_TEST_POSTGRES", "10s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := os.Getenv(test.env)
			if addr == "" && os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
				t.Fatalf("%s is not set", test.env)
			}
			if addr == "" {
				t.Skipf("%s is not set: no server to test with (make test starts them)", test.env)
			}
			p := invoke(t, "run", "-backend", name, "-addr", addr, "-ttl", test.ttl,
				"cmd-"+distlock.NewOwner().Text(), "--", "sh", "-c", "echo $DISTLOCK_TOKEN")
			p.ends(t, 0)
			token, err := distlock.ParseToken(strings.TrimSpace(p.out.String()))
			if err != nil || token == 0 {
				t.Errorf("got token %q, %v", p.out.String(), err)
			}
		})
	}
}
