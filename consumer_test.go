package distlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What each package brings into the build of a program that imports it alone,
// besides this module and the standard library. A backend brings its own
// service's client and nobody else's.
var brings = map[string][]string{
	"":        nil,
	"/memory": nil,
	"/redis":  {"github.com/cespare/xxhash/v2", "github.com/redis/go-redis/v9", "go.uber.org/atomic", "golang.org/x/sys"},
	"/otel": {
		"github.com/cespare/xxhash/v2", "github.com/go-logr/logr", "github.com/go-logr/stdr", "go.opentelemetry.io/auto/sdk",
		"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/log", "go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/trace",
	},
}

// TestConsumers builds a module of a user's for each of them, from the module
// cache alone.
func TestConsumers(t *testing.T) {
	t.Parallel()
	for pkg, want := range brings {
		t.Run("distlock"+pkg, func(t *testing.T) {
			t.Parallel()
			dir := consumer(t, pkg)
			var modules []string
			for path := range strings.FieldsSeq(goIn(t, dir, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
				if path != module && path != "consumer" {
					modules = append(modules, path)
				}
			}
			slices.Sort(modules)
			if modules = slices.Compact(modules); !slices.Equal(modules, want) {
				t.Errorf("a program that imports %s builds %v, want %v", module+pkg, modules, want)
			}
			sum, _ := os.ReadFile(filepath.Join(dir, "go.sum"))
			if want == nil && len(sum) > 0 {
				t.Errorf("its go.sum is not empty:\n%s", sum)
			}
			if strings.Contains(string(sum), "testcontainers") || strings.Contains(string(sum), "otel/sdk ") {
				t.Errorf("its go.sum has what only tests need:\n%s", sum)
			}
		})
	}
}

const module = "github.com/distlock-go/distlock"

// consumer makes a module that imports the package alone and returns its
// folder.
func consumer(t *testing.T, pkg string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": "package main\n\nimport _ \"" + module + pkg + "\"\n\nfunc main() {}\n",
		"go.mod":  "module consumer\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + here + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goIn(t, dir, "build", "-o", os.DevNull, ".")
	return dir
}

// goIn runs the go command in dir, which asks nobody.
func goIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
