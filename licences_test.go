package distlock_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// licences are those that a dependency may have, each with what its text says
// and no other's does. All let a program under any licence use the dependency
// as it is.
var licences = []struct {
	name string
	says *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License\s+Version 2\.0, January 2004`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? [Vv]ersion 2\.0`)},
	{"BSD-3-Clause", regexp.MustCompile(`(?s)Redistribution and use in source and binary forms.*Neither the name`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and/?(or)? distribute this software for any purpose`)},
}

// TestLicences checks that docs/dependencies.md lists every module that any of
// our packages brings into a program, with its licence, which is one of those
// above. Tools and tests are not among them.
func TestLicences(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]string)
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^ |]+) \\|").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = m[2]
	}
	found := make(map[string]string)
	for line := range strings.Lines(goIn(t, ".", "list", "-mod=readonly", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./...")) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok && path != module && found[path] == "" {
			found[path] = licence(t, dir)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%-40s %s", path, found[path])
		if listed[path] != found[path] {
			t.Errorf("docs/dependencies.md says that %s is %q, it is %q", path, listed[path], found[path])
		}
		delete(listed, path)
	}
	for path := range listed {
		t.Errorf("docs/dependencies.md lists %s, on which nothing depends", path)
	}
}

// licence names the licence of the module in dir.
func licence(t *testing.T, dir string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "LICEN[CS]E*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range licences {
			if l.says.Match(text) {
				return l.name
			}
		}
	}
	t.Errorf("%s has no licence that may be used", dir)
	return "unknown"
}
