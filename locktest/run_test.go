package locktest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/memsession"
	"github.com/distlock-go/distlock/locktest"
)

// What does not apply to a backend is not run, and is listed with the reason.
func TestCasesThatDoNotApplyAreListed(t *testing.T) {
	t.Parallel()
	h := sessionHarness(memsession.New(), memsession.Options{Queue: true})
	h.Without["lock-delay"] = "as it were"
	h.Without["Link"] = "just so"
	run, out := locktest.Plan(t, h)
	for name, why := range map[string]string{
		"session-renew":      "no Renewer",
		"session-watch":      "no Waker",
		"lock-delay":         "as it were",
		"acquire-reply-lost": "without Link: just so",
	} {
		listed := slices.ContainsFunc(out, func(line string) bool {
			return strings.HasPrefix(line, name+": ") && strings.Contains(line, why)
		})
		if !listed || slices.Contains(run, name) {
			t.Errorf("%s: got it run or not listed with %q: %q", name, why, out)
		}
	}
	for _, name := range []string{"session-keep-alive", "session-queue", "excludes-clients"} {
		if !slices.Contains(run, name) {
			t.Errorf("%s is not run", name)
		}
	}
	if len(run)+len(out) != len(locktest.CaseNames()) {
		t.Errorf("%d run and %d not, of %d", len(run), len(out), len(locktest.CaseNames()))
	}
}
