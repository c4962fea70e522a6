package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

// server returns what env says. Without it the test is skipped, or fails where a
// skip is one.
func server(t *testing.T, env string) string {
	t.Helper()
	v := os.Getenv(env)
	if v == "" && os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
		t.Fatalf("%s is not set", env)
	}
	if v == "" {
		t.Skipf("%s is not set: no server to test with (make test starts them)", env)
	}
	return v
}

// Who is stopped is, and writes late: with the guard nothing is charged twice, and
// without it something is.
func TestInvoices(t *testing.T) {
	t.Parallel()
	for name, servers := range map[string]map[string]string{
		"efficiency":  {"-redis": "DISTLOCK_TEST_REDIS"},
		"correctness": {"-etcd": "DISTLOCK_TEST_ETCD", "-postgres": "DISTLOCK_TEST_POSTGRES"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-accounts", "200"}
			for flag, env := range servers {
				args = append(args, flag, server(t, env))
			}
			var out, errs bytes.Buffer
			if code := run(args, &out, &errs); code != 0 || errs.Len() > 0 {
				t.Fatalf("got exit status %d, want 0\n%s%s", code, out.String(), errs.String())
			}
			for _, want := range []string{
				`[1-9]\d* late charges were refused`, `200 accounts, 1400 of 1400; too much: 0\n`,
				` 0 late charges were refused`, `200 accounts, \d+ of 1400; too much: [1-9]\d*\n`,
			} {
				if !regexp.MustCompile(want).MatchString(out.String()) {
					t.Errorf("got no %s in\n%s", want, out.String())
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for want, all := range map[int][][]string{
		0: {{"-h"}},
		1: {
			{"-redis", "127.0.0.1:1", "-accounts", "20"},
			{"-etcd", "127.0.0.1:1", "-postgres", "postgres://127.0.0.1:1/test", "-accounts", "20"},
		},
		2: {
			{"-redis", "127.0.0.1:1", "-accounts", "0"},
			{"-redis", "127.0.0.1:1", "more"},
			{"-accounts", "100"},
			{"-etcd", "127.0.0.1:1"},
			{"-postgres", "x"},
		},
	} {
		for _, args := range all {
			var out, errs bytes.Buffer
			if code := run(args, &out, &errs); code != want || errs.Len() == 0 {
				t.Errorf("%q: got exit status %d and %q, want %d and a word why", args, code, errs.String(), want)
			}
		}
	}
}
