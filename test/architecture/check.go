package architecture

import (
	"slices"
	"strings"
)

// House is all that is asked of a tree.
type House struct {
	Layers     []Layer
	TestOurs   []string // packages of the module that any _test.go may import too
	TestThird  []string // other modules' packages that any _test.go may import too
	Doors      []Door
	Reaches    []Reach
	Rules      []Rule
	Budgets    Budgets
	Top        []string // the names that may stand beside go.mod
	Ports      string   // the directory whose comments name cases
	Suite      string   // the directory that has them
	Exceptions []Exception
}

// Exception lets one violation stand. Where is a file, or a file and a function.
type Exception struct{ Rule, Where, Reason string }

// Check judges a tree and the graph of what it links.
func Check(t *Tree, g Graph, h House) []Violation {
	found := slices.Concat(
		checkTop(t, h), checkLayers(t, h), checkDoors(t, h), checkReach(t.Module, g, h),
		checkRules(t, h), checkBudgets(t, h), checkDocs(t), checkCases(t, h),
	)
	for _, e := range h.Exceptions {
		before := len(found)
		found = slices.DeleteFunc(found, e.covers)
		if len(found) == before || e.Reason == "" {
			found = append(found, Violation{"vacuous", e.Where, "the exception from " + e.Rule + " is not needed, or has no reason"})
		}
	}
	return found
}

func (e Exception) covers(v Violation) bool {
	return v.Rule == e.Rule && (v.Where == e.Where || strings.HasPrefix(v.Where, e.Where+":"))
}

// checkDocs wants the package's comment in doc.go, or in the one file of a
// package, for every package that is not a command.
func checkDocs(t *Tree) (found []Violation) {
	files, inDoc, anywhere := map[string]int{}, map[string]bool{}, map[string]bool{}
	for _, f := range t.Files {
		if f.Test || f.ast.Name.Name == "main" {
			continue
		}
		files[f.Dir]++
		if f.ast.Doc.Text() != "" {
			anywhere[f.Dir] = true
			inDoc[f.Dir] = inDoc[f.Dir] || f.Base == "doc.go"
		}
	}
	for dir, n := range files {
		if !inDoc[dir] && (n > 1 || !anywhere[dir]) {
			found = append(found, Violation{"doc", dir, "doc.go must say what the package is for, may import and must not know"})
		}
	}
	return found
}
