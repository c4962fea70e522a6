package distlock_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What every user builds imports the standard library and this module alone.
func TestDependencies(t *testing.T) {
	t.Parallel()
	for _, pkg := range []string{"", "/memory", "/locktest", "/sqlfence", "/httpfence", "/objectfence", "/internal/fencetest"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps",
			"-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+pkg).Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", module+pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			if dep != module && !strings.HasPrefix(dep, module+"/") {
				t.Errorf("%s depends on %s", module+pkg, dep)
			}
		}
	}
}
