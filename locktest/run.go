package locktest

import (
	"sync"
	"testing"
)

// A testCase is one row of the table.
type testCase struct {
	name  string
	rule  string   // printed when the case fails
	needs []string // capabilities, by field name
	kept  bool     // for backends whose grants live by a session
	alone bool     // busy, or disturbs others: runs by itself after all others
	run   func(r *row)
}

// Run checks the backend that h describes: one sub-test a case, named as in
// Harness.Without, Harness.Parallel of them at a time. Cases that h leaves out
// are skipped with its reason; cases that it lacks a capability for fail. A
// case that does not apply to the backend, by what its Info and its Session's
// methods say, is skipped.
func Run(t *testing.T, h Harness) {
	t.Helper()
	cases := allCases()
	h, err := h.complete(cases)
	if err != nil {
		t.Fatal(err)
	}
	schedule(cases, h.Parallel, func(c testCase) {
		t.Run(c.name, func(t *testing.T) { c.check(t, &h) })
	})
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

// check runs c, unless it is left out, and prints its rule if it fails.
func (c testCase) check(t testing.TB, h *Harness) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.rule)
		}
	}()
	if why := h.Without[c.name]; why != "" {
		t.Skipf("left out by the harness: %s", why)
	}
	if c.kept && !h.Backend(t).Info().SessionPerTerms {
		t.Skip("the backend's grants have a lifetime each")
	}
	has := h.capabilities()
	for _, need := range c.needs {
		switch why := h.Without[need]; {
		case why != "":
			t.Skipf("left out by the harness, which is without %s: %s", need, why)
		case !has[need]:
			t.Fatalf("Harness.%s is missing. Give it, or say in Harness.Without[%q] why it cannot be given", need, need)
		}
	}
	c.run(newRow(t, h, c.name))
}
