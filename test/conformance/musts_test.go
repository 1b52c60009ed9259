package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mustsOfThePorts lists the cases that the comments of ports/driven name.
func mustsOfThePorts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../ports/driven/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of the ports: %v", err)
	}
	named := regexp.MustCompile(`\(([a-z]+/[a-z-]+)\)`)
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
	}
	if len(found) == 0 {
		t.Fatal("the ports name no case")
	}
	return found
}

func TestPortsNameCases(t *testing.T) {
	cases := Cases()
	for _, name := range mustsOfThePorts(t) {
		if !slices.Contains(cases, name) {
			t.Errorf("ports/driven names the case %s, which does not exist", name)
		}
	}
}

func TestCasesAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range Cases() {
		if seen[name] || strings.Count(name, "/") != 1 {
			t.Errorf("case %q is named twice or not as category/case", name)
		}
		seen[name] = true
	}
}

func TestNamesAreDistinct(t *testing.T) {
	for _, limit := range []int{120, 190} {
		list := distinct(limit)
		if n := len(slices.Compact(slices.Clone(list))); n != len(list) {
			t.Errorf("%d of %d names are distinct", n, len(list))
		}
		for _, name := range list {
			if len(name) > limit {
				t.Errorf("a name of %d bytes, the limit is %d", len(name), limit)
			}
		}
	}
}
