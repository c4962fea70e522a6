// Package snippets compiles the Go code of documents, so that what a reader
// copies is right.
package snippets

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A Scope is what blocks may use without saying so.
type Scope struct {
	Names map[string]string // import specs, by the name that they bring
	Vars  string            // variables, as parameters of a function
	// Setup gives values to Vars, as the body of a function that has them as results.
	// Bodies that use none of Servers are run on these.
	Setup string
	// Servers matches the variables that nothing can be done with where there is no server.
	Servers *regexp.Regexp
}

// A Block is a fenced block of a document.
type Block struct {
	Where string // file and line
	Text  string
	Said  string // of a program: the block of text that follows it at once, or ""
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+)([^\n]*)\n(.*?)^```\n")

// Blocks returns the blocks of Go in file whose fence says mark after the
// language: "go" for an empty mark, "go before" for "before".
func Blocks(t testing.TB, file, mark string) (all []Block) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	found := fence.FindAllStringSubmatchIndex(text, -1)
	for i, m := range found {
		if text[m[2]:m[3]] != "go" || strings.TrimSpace(text[m[4]:m[5]]) != mark {
			continue
		}
		b := Block{Where: fmt.Sprintf("%s:%d", file, 1+strings.Count(text[:m[0]], "\n")), Text: text[m[6]:m[7]]}
		if i+1 < len(found) {
			next := found[i+1]
			if text[next[2]:next[3]] == "text" && strings.TrimSpace(text[m[1]:next[0]]) == "" {
				b.Said = text[next[6]:next[7]]
			}
		}
		all = append(all, b)
	}
	return all
}

// Check compiles each block in the module of the current folder. One that begins
// with "package" is a file as it stands: that of package main is run, and must say
// what the document says, and one of a package of tests is tested. Any other is the
// body of a function that returns an error; those that need no server are run too, one
// after the other, and must return none.
func (s Scope) Check(t *testing.T, blocks []Block) {
	t.Helper()
	dir := t.TempDir()
	s.lay(t, dir, blocks)
	program := filepath.Join(dir, "program")
	var all []string
	for i, b := range blocks {
		if !s.isRun(b) && !b.isTest() {
			all = append(all, name(i))
		}
	}
	compile(t, dir, "build", all...)
	for i, b := range blocks {
		switch {
		case strings.HasPrefix(b.Text, "package main\n"):
			compile(t, dir, "build", "-o", program, name(i))
			run(t, b, program)
		case b.isTest():
			compile(t, dir, "test", "-c", "-vet=off", "-o", program, name(i))
			run(t, b, program)
		}
	}
	if slices.ContainsFunc(blocks, s.isRun) {
		compile(t, dir, "build", "-o", program, bodies)
		run(t, Block{Where: "all that needs no server"}, program)
	}
}

// isTest reports whether b is a file of tests.
func (b Block) isTest() bool { return inTests.MatchString(b.Text) }

var inTests = regexp.MustCompile(`^package \w+_test\n`)

// isRun reports whether b is a body that can be run on what Setup makes.
func (s Scope) isRun(b Block) bool {
	return s.Setup != "" && !strings.HasPrefix(b.Text, "package ") && !s.Servers.MatchString(b.Text)
}

// bodies is the import path of the program that runs bodies.
const bodies = "./snippet_bodies"

// name is the import path of the package that is made of block i, but for bodies.
func name(i int) string { return fmt.Sprintf("./snippet_%d", i+1) }

// lay writes the packages to dir, with an overlay that puts them into the
// module.
func (s Scope) lay(t *testing.T, dir string, blocks []Block) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := make(map[string]string)
	for i, b := range blocks {
		src := filepath.Join(dir, fmt.Sprint(i, ".go"))
		if err := os.WriteFile(src, []byte(s.file(i, b)), 0o600); err != nil {
			t.Fatal(err)
		}
		switch {
		case s.isRun(b):
			replace[filepath.Join(here, bodies, fmt.Sprint("body_", i, ".go"))] = src
		case b.isTest():
			replace[filepath.Join(here, name(i), "snippet_test.go")] = src
		default:
			replace[filepath.Join(here, name(i), "snippet.go")] = src
		}
	}
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte(s.main(blocks)), 0o600); err != nil {
		t.Fatal(err)
	}
	replace[filepath.Join(here, bodies, "main.go")] = src
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
}

// compile runs go with the overlay in dir. It asks nobody for modules.
func compile(t *testing.T, dir, verb string, args ...string) {
	t.Helper()
	args = append([]string{verb, "-overlay=" + filepath.Join(dir, "overlay.json")}, args...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("code in a document does not compile: %v\n%s", err, out)
	}
}

// run runs a block that was built.
func run(t *testing.T, b Block, program string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	if err != nil || b.Said != "" && string(out) != b.Said {
		t.Errorf("%s: the program ends with %v and says\n%sthe document has\n%s", b.Where, err, out, b.Said)
	}
}

// file makes a file of block i, of which the compiler names the document.
func (s Scope) file(i int, b Block) string {
	if strings.HasPrefix(b.Text, "package ") {
		return "//line " + b.Where + "\n" + b.Text
	}
	pkg, f := "snippet", "_"
	if s.isRun(b) {
		pkg, f = "main", body(i)
	}
	return fmt.Sprintf("package %s\n\n%s\nfunc %s(%s) error {\n{\n//line %s\n%s}\nreturn nil\n}\n",
		pkg, s.imports(s.Vars+b.Text), f, s.Vars, b.Where, b.Text)
}

// body is the name of the function that is made of block i.
func body(i int) string { return fmt.Sprint("body", i) }

// imports are those of a file that has code.
func (s Scope) imports(code string) string {
	var all strings.Builder
	for name, spec := range s.Names {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(code) {
			all.WriteString("import " + spec + "\n")
		}
	}
	return all.String()
}

// main makes the file that runs all bodies, each on variables of its own.
func (s Scope) main(blocks []Block) string {
	code := fmt.Sprintf("func setup() (%s) {\n%s\nreturn\n}\n", s.Vars, s.Setup)
	code += "func main() {\n"
	for i, b := range blocks {
		if s.isRun(b) {
			code += fmt.Sprintf("if err := %s(setup()); err != nil {\nlog.Fatal(%q, \": \", err)\n}\n", body(i), b.Where)
		}
	}
	return "package main\n\n" + s.imports(code) + code + "}\n"
}
