package otel_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// checkDocumented checks that each of files lists each metric of all with its
// type and unit, and lists no other.
func checkDocumented(t *testing.T, all []metricdata.Metrics, files ...string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		listed := make(map[string]string)
		for _, m := range regexp.MustCompile("(?m)^(?://\t|\\| `)(distlock\\.[a-z.]+)`?[ |]+([a-z]+)[ |]+`?(s|\\{[a-z]+\\})").FindAllStringSubmatch(string(text), -1) {
			listed[m[1]] = m[2] + " " + m[3]
		}
		for _, m := range all {
			kind := "histogram"
			if d, ok := m.Data.(metricdata.Sum[int64]); ok {
				kind = "counter"
				if !d.IsMonotonic {
					kind = "updowncounter"
				}
			}
			if got, want := listed[m.Name], kind+" "+m.Unit; got != want {
				t.Errorf("%s says of %s %q, it is %q", file, m.Name, got, want)
			}
			if m.Description == "" || !strings.HasSuffix(m.Description, ".") {
				t.Errorf("%s is described as %q", m.Name, m.Description)
			}
			delete(listed, m.Name)
		}
		for name := range listed {
			t.Errorf("%s lists %s, which there is not", file, name)
		}
	}
}
