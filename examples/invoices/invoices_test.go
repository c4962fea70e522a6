package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

func TestInvoices(t *testing.T) {
	t.Parallel()
	addr := os.Getenv("DISTLOCK_TEST_REDIS")
	if addr == "" && os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
		t.Fatal("DISTLOCK_TEST_REDIS is not set")
	}
	if addr == "" {
		t.Skip("DISTLOCK_TEST_REDIS is not set: no server to test with (make test starts them)")
	}
	var out, errs bytes.Buffer
	if code := run([]string{"-redis", addr, "-accounts", "500"}, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("got exit status %d, want 0\n%s%s", code, out.String(), errs.String())
	}
	for _, want := range []string{
		`[1-9]\d* late charges were discarded`, `500 accounts, 3500 of 3500; too much: 0\n`,
		`0 late charges were discarded`, `500 accounts, \d+ of 3500; too much: [1-9]\d*\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("got no %s in\n%s", want, out.String())
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[int][]string{0: {"-h"}, 1: {"-redis", "127.0.0.1:1", "-accounts", "1"}, 2: {"-accounts", "0"}} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != want || errs.Len() == 0 {
			t.Errorf("%q: got exit status %d and %q, want %d and a word why", args, code, errs.String(), want)
		}
	}
}
