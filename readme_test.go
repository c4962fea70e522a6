package distlock_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readmeNames are the packages that a block of the README may use without
// importing them, by the name it uses.
var readmeNames = map[string]string{
	"context":   `"context"`,
	"errors":    `"errors"`,
	"fmt":       `"fmt"`,
	"log":       `"log"`,
	"slog":      `"log/slog"`,
	"sql":       `"database/sql"`,
	"time":      `"time"`,
	"distlock":  `"github.com/distlock-go/distlock"`,
	"memory":    `"github.com/distlock-go/distlock/memory"`,
	"redislock": `redislock "github.com/distlock-go/distlock/redis"`,
	"sqlfence":  `"github.com/distlock-go/distlock/sqlfence"`,
	"goredis":   `goredis "github.com/redis/go-redis/v9"`,
}

// readmeVars are the variables that a block may use without declaring them.
const readmeVars = `ctx context.Context, rdb *goredis.Client, client *distlock.Client, lease *distlock.Lease, fence *distlock.Fence,
	backend distlock.Backend, db *sql.DB, pay func(context.Context, distlock.Token) error,
	stock map[string]int, check func(context.Context, int) error`

// TestReadmeCompiles compiles every block of Go in README.md. A block that
// begins with "package" is a file as it stands. Any other is the body of a
// function that returns an error, in a file that imports what readmeNames
// lists, as far as it is used, with the variables of readmeVars in scope.
func TestReadmeCompiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		t.Fatal("got no block of Go in README.md, want some")
	}
	build(t, blocks)
}

// build compiles each block as a package of its own, which exists only in the
// overlay that the go command is given.
func build(t *testing.T, blocks [][]string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), make(map[string]string)
	args := []string{"build", "-overlay=" + filepath.Join(dir, "overlay.json")}
	for i, b := range blocks {
		pkg := fmt.Sprintf("readme_block_%d", i+1)
		src := filepath.Join(dir, pkg+".go")
		if err := os.WriteFile(src, []byte(readmeFile(b[1])), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, pkg, "readme.go")] = src
		args = append(args, "./"+pkg)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a block of README.md does not compile: %v\n%s", err, out)
	}
}

// readmeFile makes a file of a block.
func readmeFile(block string) string {
	if strings.HasPrefix(block, "package ") {
		return block
	}
	var s strings.Builder
	s.WriteString("package readme\n\n")
	for name, spec := range readmeNames {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(readmeVars + block) {
			s.WriteString("import " + spec + "\n")
		}
	}
	fmt.Fprintf(&s, "\nfunc _(%s) error {\n{\n%s}\nreturn nil\n}\n", readmeVars, block)
	return s.String()
}
