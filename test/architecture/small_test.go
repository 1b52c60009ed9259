package architecture

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// smallTree is a whole module without a fault.
func smallTree() fstest.MapFS {
	files := fstest.MapFS{}
	for name, source := range map[string]string{
		"go.mod":                 "module example.com/m\n",
		"README.md":              "",
		"core/doc.go":            "// Package core is the core.\npackage core\n",
		"core/core.go":           "package core\n\n// A must hold (claim/once) and (settle/*).\ntype A interface{ B() }\n",
		"core/core_test.go":      "package core\n\nimport _ \"example.com/testlib\"\n",
		"core/testdata/x.go":     "not Go at all",
		"shell/doc.go":           "// Package shell is around the core.\npackage shell\n\nimport (\n\t_ \"example.com/m/core\"\n\t_ \"example.com/lib/sub\"\n)\n",
		"shell/deep/main.go":     "package main\n\nimport _ \"example.com/m/core\"\n",
		"test/suite/doc.go":      "// Package suite is for tests.\npackage suite\n",
		"test/suite/cases.go":    "package suite\n\nfunc all() []category { return []category{{\"claim\", claims(), nil}, {name: \"settle\", cases: settles()}} }\n\nfunc claims() []entry { return []entry{{\"once\", one}, {\"due\", two}} }\n\nfunc settles() []entry { return []entry{{name: \"fence\", run: one}} }\n",
		"test/suite/x_test.go":   "package suite\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Skip(\"why\") }\n",
		".hidden/also-not-go.go": "x",
	} {
		files[name] = &fstest.MapFile{Data: []byte(source)}
	}
	return files
}

func smallGraph() Graph {
	return Graph{
		"example.com/m/core":       {"fmt"},
		"example.com/m/shell":      {"example.com/m/core", "example.com/lib/sub"},
		"example.com/m/shell/deep": {"example.com/m/core"},
		"example.com/lib/sub":      {"net"},
		"fmt":                      {"os"}, "os": nil, "net": nil,
	}
}

func smallHouse() House {
	skip := Rule{Name: "skip", Why: "do not", In: tests, Find: skips}
	return House{
		Layers: []Layer{
			{Dir: "core", NoStd: []string{"net"}},
			{Dir: "shell/...", Ours: []string{"core"}, Third: []string{"example.com/lib"}},
			{Dir: "test/suite"},
		},
		TestThird:  []string{"example.com/testlib"},
		Doors:      []Door{{Dir: "core", By: []string{"shell/..."}}},
		Reaches:    []Reach{{From: []string{"core", "shell/deep"}, Never: []string{"net"}}},
		Rules:      []Rule{skip},
		Budgets:    Budgets{File: 20, Func: 10, TestFunc: 10, Methods: 1, Exempt: []string{"test/suite"}},
		Top:        []string{"go.mod", "README.md", "core", "shell", "test"},
		Ports:      "core",
		Suite:      "test/suite",
		Exceptions: []Exception{{Rule: "skip", Where: "test/suite/x_test.go", Reason: "it shows the exception"}},
	}
}

func TestACleanTreeHasNoViolation(t *testing.T) {
	tree, err := Load(smallTree())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Check(tree, smallGraph(), smallHouse()) {
		t.Error(v)
	}
	if len(tree.Files) != 8 {
		t.Errorf("%d files were read", len(tree.Files))
	}
}

// What judges or allows nothing is reported: a rule must not rot unseen.
func TestVacuousRulesAreReported(t *testing.T) {
	for name, change := range map[string]func(*House, fstest.MapFS, Graph){
		"a renamed layer":                   func(h *House, _ fstest.MapFS, _ Graph) { h.Layers[0].Dir = "kernel" },
		"an allowed package that is gone":   func(h *House, _ fstest.MapFS, _ Graph) { h.Layers[0].Ours = []string{"gone"} },
		"an unused third party":             func(h *House, _ fstest.MapFS, _ Graph) { h.Layers[0].Third = []string{"example.com/lib"} },
		"a package for tests that is gone":  func(h *House, _ fstest.MapFS, _ Graph) { h.TestOurs = []string{"gone"} },
		"a door before nothing":             func(h *House, _ fstest.MapFS, _ Graph) { h.Doors[0].Dir = "gone" },
		"a reach from nowhere":              func(h *House, _ fstest.MapFS, _ Graph) { h.Reaches[0].From[0] = "gone" },
		"a reach to what nobody links":      func(h *House, _ fstest.MapFS, _ Graph) { h.Reaches[0].Never = []string{"gone"} },
		"a rule about no file":              func(h *House, _ fstest.MapFS, _ Graph) { h.Rules[0].In = func(*File) bool { return false } },
		"an exempt directory that is gone":  func(h *House, _ fstest.MapFS, _ Graph) { h.Budgets.Exempt = append(h.Budgets.Exempt, "gone") },
		"an exception that is not needed":   func(h *House, m fstest.MapFS, _ Graph) { delete(m, "test/suite/x_test.go") },
		"an exception without a reason":     func(h *House, _ fstest.MapFS, _ Graph) { h.Exceptions[0].Reason = "" },
		"ports that name no case":           func(_ *House, m fstest.MapFS, _ Graph) { m["core/core.go"].Data = []byte("package core\n") },
		"a suite whose cases are not found": func(h *House, _ fstest.MapFS, _ Graph) { h.Suite = "gone" },
	} {
		t.Run(name, func(t *testing.T) {
			house, files, graph := smallHouse(), smallTree(), smallGraph()
			change(&house, files, graph)
			tree, err := Load(files)
			if err != nil {
				t.Fatal(err)
			}
			found := Check(tree, graph, house)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == "vacuous" }) {
				t.Errorf("not reported; reported were %v", found)
			}
		})
	}
}

func TestWhatBelongsNowhereIsReported(t *testing.T) {
	for rule, add := range map[string][2]string{
		"top":    {"notes.txt", ""},
		"doc":    {"shell/more/x.go", "package more\n"},
		"layers": {"extra/doc.go", "// Package extra is.\npackage extra\n"},
	} {
		files := smallTree()
		files[add[0]] = &fstest.MapFile{Data: []byte(add[1])}
		tree, err := Load(files)
		if err != nil {
			t.Fatal(err)
		}
		found := Check(tree, smallGraph(), smallHouse())
		named := func(v Violation) bool { return v.Rule == rule && strings.HasPrefix(add[0], v.Where) }
		if !slices.ContainsFunc(found, named) {
			t.Errorf("%s was not reported as %q; reported were %v", add[0], rule, found)
		}
	}
}

func TestLoadRefusesABrokenTree(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"no go.mod":     {"x.go": &fstest.MapFile{Data: []byte("package x")}},
		"no module":     {"go.mod": &fstest.MapFile{Data: []byte("go 1.26")}},
		"no Go in a go": {"go.mod": &fstest.MapFile{Data: []byte("module m\n")}, "x.go": &fstest.MapFile{Data: []byte("x")}},
	} {
		if _, err := Load(files); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}
