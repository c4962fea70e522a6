package locktest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
)

// A testCase is one row of the table.
type testCase struct {
	name  string
	rule  string   // printed when the case fails
	needs []string // capabilities, by field name
	only  string   // the kind of session or backend it is about, such as "Keeper"; "" is any
	alone bool     // busy, or disturbs others: runs by itself after all others
	run   func(r *row)
}

// Run checks the backend that h describes: one sub-test a case, named as in
// Harness.Without, Harness.Parallel of them at a time. Cases that need a
// capability which h lacks without a reason fail. Those that h leaves out, and
// those that do not apply to the backend, by what its and its session's methods are,
// are not run; the log lists them, once.
func Run(t *testing.T, h Harness) {
	t.Helper()
	h, cases, out := prepare(t, h)
	if len(out) > 0 {
		t.Logf("not run:\n\t%s", strings.Join(out, "\n\t"))
	}
	schedule(cases, h.Parallel, func(c testCase) {
		t.Run(c.name, func(t *testing.T) { c.check(t, &h) })
	})
}

// prepare completes h and parts the cases into those to run and those not to,
// with the reason.
func prepare(t *testing.T, h Harness) (_ Harness, run []testCase, out []string) {
	t.Helper()
	all := allCases()
	h, err := h.complete(all)
	if err != nil {
		t.Fatal(err)
	}
	kinds := h.kinds(t)
	for _, c := range all {
		if why := h.reason(c, kinds); why != "" {
			out = append(out, c.name+": "+why)
		} else {
			run = append(run, c)
		}
	}
	return h, run, out
}

// kinds opens a session to see what it and its backend are.
func (h *Harness) kinds(t *testing.T) []string {
	t.Helper()
	r := newRow(t, h, "kinds")
	b := r.h.Backend(t)
	_, inspects := b.(distlock.Inspector)
	s, _ := r.open(b, distlock.Terms{TTL: r.long()})
	defer s.Close(t.Context()) // before the cases, some of which count sessions
	var kinds []string
	for kind, is := range map[string]bool{
		"Renewer": implements[distlock.Renewer](s),
		"Keeper":  implements[distlock.Keeper](s),
		"Queuer":  implements[distlock.Queuer](s),
		"Waker":   implements[distlock.Waker](s),

		"Inspector":     inspects,
		fencedInspector: inspects && r.fenced(),
		fencedRenewer:   inspects && r.fenced() && !b.Info().SessionPerTerms,
	} {
		if is {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func implements[T any](s distlock.Session) bool {
	_, ok := s.(T)
	return ok
}

// reason says why c is not to be run, "" if it is.
func (h *Harness) reason(c testCase, kinds []string) string {
	if c.only != "" && !slices.Contains(kinds, c.only) {
		return "the backend or its session is no " + c.only
	}
	if why := h.Without[c.name]; why != "" {
		return why
	}
	for _, need := range c.needs {
		if why := h.Without[need]; why != "" {
			return fmt.Sprintf("without %s: %s", need, why)
		}
	}
	return ""
}

// schedule calls run for each case, n at a time and then those that run alone.
func schedule(cases []testCase, n int, run func(testCase)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, n)
	for _, c := range cases {
		if c.alone {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			run(c)
		})
	}
	wg.Wait()
	for _, c := range cases {
		if c.alone {
			run(c)
		}
	}
}

// check runs c, and prints its rule if it fails.
func (c testCase) check(t testing.TB, h *Harness) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.rule)
		}
	}()
	has := h.capabilities()
	for _, need := range c.needs {
		if !has[need] {
			t.Fatalf("Harness.%s is missing. Give it, or say in Harness.Without[%q] why it cannot be given", need, need)
		}
	}
	c.run(newRow(t, h, c.name))
}
