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
	"strings"
	"testing"
)

// A Scope is what blocks may use without saying so.
type Scope struct {
	Names map[string]string // import specs, by the name that they bring
	Vars  string            // variables, as parameters of a function
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

// Check compiles each block as a package of its own in the module of the
// current folder. One that begins with "package" is a file as it stands, and
// one of package main is run too, and must say what the document says. Any
// other is the body of a function that returns an error.
func (s Scope) Check(t *testing.T, blocks []Block) {
	t.Helper()
	dir := t.TempDir()
	s.lay(t, dir, blocks)
	var all []string
	for i := range blocks {
		all = append(all, name(i))
	}
	build(t, dir, all...)
	for i, b := range blocks {
		if strings.HasPrefix(b.Text, "package main\n") {
			program := filepath.Join(dir, "program")
			build(t, dir, "-o", program, name(i))
			run(t, b, program)
		}
	}
}

// name is the import path of the package that is made of block i.
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
		if err := os.WriteFile(src, []byte(s.file(b)), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, name(i), "snippet.go")] = src
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
}

// build runs "go build" with the overlay in dir. It asks nobody for modules.
func build(t *testing.T, dir string, args ...string) {
	t.Helper()
	args = append([]string{"build", "-overlay=" + filepath.Join(dir, "overlay.json")}, args...)
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

// file makes a file of b, of which the compiler names the document.
func (s Scope) file(b Block) string {
	if strings.HasPrefix(b.Text, "package ") {
		return "//line " + b.Where + "\n" + b.Text
	}
	var f strings.Builder
	f.WriteString("package snippet\n\n")
	for name, spec := range s.Names {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(s.Vars + b.Text) {
			f.WriteString("import " + spec + "\n")
		}
	}
	fmt.Fprintf(&f, "\nfunc _(%s) error {\n{\n//line %s\n%s}\nreturn nil\n}\n", s.Vars, b.Where, b.Text)
	return f.String()
}
