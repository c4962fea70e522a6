package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestMain lets take-over run this program as the process that it kills.
func TestMain(m *testing.M) {
	crashIfTold()
	os.Exit(m.Run())
}

// quickly are the scenarios that the test runs: those beside floors. The ones beside
// peers take longer than all other tests together.
const quickly = "^(alone|busy|hand-over|held|core|redlock|etcd|zookeeper|consul|postgres .*)$"

// They run, are valid and print their figures. What the figures are depends on the
// machine and is not looked at.
func TestQuick(t *testing.T) {
	p := quick
	for env := range describers {
		if os.Getenv(env) != "" {
			continue
		}
		if os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set", env)
		}
		t.Skipf("%s is not set: no server to test with (make test starts them)", env)
	}
	dir := t.TempDir()
	f := files{json: filepath.Join(dir, "figures.json")}
	var out bytes.Buffer
	if err := run(t.Context(), p, quickly, f, &out); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	var figures struct{ Lines []line }
	text, err := os.ReadFile(f.json)
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if !regexp.MustCompile(quickly).MatchString(s.name) {
			continue
		}
		if !slices.ContainsFunc(figures.Lines, func(l line) bool { return l.Scenario == s.name }) {
			t.Errorf("got no figure of %q", s.name)
		}
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		q, want float64
	}{
		{nil, 0.5, 0},
		{[]float64{3}, 0.99, 3},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{1, 2, 3, 4, 5}, 0.25, 2},
	} {
		if got := quantile(c.values, c.q); got != c.want {
			t.Errorf("quantile(%v, %v): got %v, want %v", c.values, c.q, got, c.want)
		}
	}
}

func TestGuard(t *testing.T) {
	var g guard
	if err := g.enter(2); err != nil {
		t.Errorf("got %v for the first holder, want nil", err)
	}
	if err := g.enter(3); err == nil {
		t.Error("got nil for a second holder, want an error")
	}
	if err := g.leave(); err != nil {
		t.Errorf("got %v from leave, want nil", err)
	}
	if err := g.leave(); err == nil {
		t.Error("got nil from a second leave, want an error")
	}
	if err := g.enter(2); err == nil {
		t.Error("got nil for a token as before, want an error")
	}
}
