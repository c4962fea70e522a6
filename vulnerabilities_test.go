package distlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Only a database that cannot be reached is no failure of lint. Stands for: every
// error of govulncheck passed for one.
func TestVulnerabilitiesFailLint(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	const unreachable = `govulncheck: fetching vulnerabilities: Get "https://localhost/index.gz": dial tcp: no such host`
	for name, test := range map[string]struct {
		script string // that stands for govulncheck
		ok     bool
		says   string
	}{
		"none":                  {"exit 0", true, "none"},
		"found":                 {"echo 'Vulnerability #1'; exit 3", false, "Vulnerability #1"},
		"found beside an error": {"echo '" + unreachable + "'; exit 3", false, "fetching"},
		"no database":           {"echo '" + unreachable + "' >&2; exit 1", true, "cannot be reached"},
		"an answer of another kind": {
			"echo 'govulncheck: fetching vulnerabilities: HTTP GET: unexpected status 500'; exit 1", false, "500",
		},
		"does not compile": {"echo 'govulncheck: loading packages: x.go:1: syntax error'; exit 1", false, "syntax error"},
		"not there":        {"exit 127", false, ""},
	} {
		fake := filepath.Join(t.TempDir(), "govulncheck")
		if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+test.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), bash, "internal/tools/vulnerabilities.sh", fake).CombinedOutput()
		if (err == nil) != test.ok || !strings.Contains(string(out), test.says) {
			t.Errorf("%s: got %v and %q, want success %v and %q", name, err, out, test.ok, test.says)
		}
	}
}
