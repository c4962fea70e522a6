package distlock_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update", false, "write docs/api.txt")

// TestAPI compares what the packages export with docs/api.txt, so that a change of
// the API is seen in a diff of that file, and is none by oversight.
func TestAPI(t *testing.T) {
	t.Parallel()
	const file = "docs/api.txt"
	var now bytes.Buffer
	for _, dir := range publicDirs(t) {
		writeAPI(t, &now, dir)
	}
	if *updateAPI {
		if err := os.WriteFile(file, now.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if was, is := string(before), now.String(); was != is {
		t.Errorf("the API is another one than %s has. Run \"make api\", read the diff, and put the change into CHANGELOG.md.\n%s%s",
			file, onlyIn(was, is, "- "), onlyIn(is, was, "+ "))
	}
}

// publicDirs are the folders of the packages that programs import.
func publicDirs(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case slices.Contains([]string{"internal", "cmd", "examples", "bin", "testdata"}, d.Name()), dir != "." && d.Name()[0] == '.':
			return fs.SkipDir
		}
		if sources, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(sources) > 0 {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// writeAPI writes what the package in dir exports to out, without comments, bodies
// and what is not exported.
func writeAPI(t *testing.T, out *bytes.Buffer, dir string) {
	t.Helper()
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range found.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, path.Join(module, filepath.ToSlash(dir)))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "# package %s, %s\n\n", p.Name, p.ImportPath)
	writeValues(t, out, p.Consts, p.Vars)
	writeFuncs(t, out, p.Funcs)
	for _, typ := range p.Types { // sorted by doc, as all that is in them
		writeDecl(t, out, typ.Decl)
		writeValues(t, out, typ.Consts, typ.Vars)
		writeFuncs(t, out, typ.Funcs, typ.Methods)
	}
}

func writeValues(t *testing.T, out *bytes.Buffer, lists ...[]*doc.Value) {
	t.Helper()
	for _, v := range slices.Concat(lists...) {
		writeDecl(t, out, v.Decl)
	}
}

func writeFuncs(t *testing.T, out *bytes.Buffer, lists ...[]*doc.Func) {
	t.Helper()
	for _, f := range slices.Concat(lists...) {
		writeDecl(t, out, f.Decl)
	}
}

var inLine = regexp.MustCompile(`(\S)\t+`)

// writeDecl writes d as if nothing were known of where it stands, and without columns,
// so that a comment or a longer name changes no other line.
func writeDecl(t *testing.T, out *bytes.Buffer, d ast.Decl) {
	t.Helper()
	ast.Inspect(d, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			s.Incomplete = false // a comment says so otherwise
		}
		return true
	})
	var text bytes.Buffer
	if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&text, token.NewFileSet(), d); err != nil {
		t.Fatal(err)
	}
	out.Write(inLine.ReplaceAll(text.Bytes(), []byte("$1 ")))
	out.WriteString("\n\n")
}

// onlyIn are the lines of text that other does not have, each after mark.
func onlyIn(text, other, mark string) string {
	left := make(map[string]int)
	for line := range strings.Lines(other) {
		left[line]++
	}
	var only strings.Builder
	for line := range strings.Lines(text) {
		if left[line]--; left[line] < 0 {
			only.WriteString(mark + line)
		}
	}
	return only.String()
}
