package architecture

import (
	"fmt"
	"slices"
	"strings"
)

// Layer is one row of the import table. Patterns are directories, "/..." after
// one takes in what is below it. An import that no field allows is a violation.
type Layer struct {
	Dir   string   // whose files these are
	Ours  []string // packages of the module that they may import, besides the layer itself
	Third []string // other modules' packages that they may import
	NoStd []string // packages of the standard library that they must not import
}

// Door is a package that only some may import.
type Door struct {
	Dir string
	By  []string
}

// Violation is one breach of a rule.
type Violation struct {
	Rule  string
	Where string // a file, a directory or the row itself
	What  string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Rule, v.Where, v.What) }

// checkLayers judges every import by the table.
func checkLayers(t *Tree, h House) (found []Violation) {
	used := map[string]bool{}
	for _, f := range t.Files {
		rows := slices.DeleteFunc(slices.Clone(h.Layers), func(l Layer) bool { return !within(l.Dir, f.Dir) })
		if len(rows) != 1 {
			found = append(found, Violation{"layers", f.Path, fmt.Sprintf("it belongs to %d rows of the import table, not to one", len(rows))})
			continue
		}
		used[rows[0].Dir] = true
		for _, imported := range f.Imports {
			if why := h.judge(t, rows[0], f, imported, used); why != "" {
				found = append(found, Violation{"imports", f.Path, imported + ": " + why})
			}
		}
	}
	return append(found, idleRows(t, h, used)...)
}

// judge says what is wrong with an import, "" for nothing; it notes which allowances were used.
func (h House) judge(t *Tree, l Layer, f *File, imported string, used map[string]bool) string {
	dir, ours := t.ours(imported)
	switch {
	case ours && (within(l.Dir, dir) || anyWithin(l.Ours, dir)):
		return ""
	case ours && f.Test && anyWithin(h.TestOurs, dir):
		return ""
	case ours:
		return "the row of " + l.Dir + " does not allow it"
	case !strings.Contains(strings.Split(imported, "/")[0], "."):
		if !f.Test && anyWithin(below(l.NoStd), imported) {
			return l.Dir + " must not know it"
		}
		return ""
	}
	for _, third := range l.Third {
		if within(third+"/...", imported) {
			used[l.Dir+" "+third] = true
			return ""
		}
	}
	if f.Test && anyWithin(below(h.TestThird), imported) {
		return ""
	}
	return "the row of " + l.Dir + " does not list it"
}

func below(packages []string) []string {
	all := make([]string, len(packages))
	for i, p := range packages {
		all[i] = p + "/..."
	}
	return all
}

// idleRows finds what in the table judges or allows nothing.
func idleRows(t *Tree, h House, used map[string]bool) (found []Violation) {
	idle := func(where, what string) { found = append(found, Violation{"vacuous", where, what}) }
	for _, l := range h.Layers {
		if !used[l.Dir] {
			idle(l.Dir, "no file belongs to this row")
		}
		for _, dir := range l.Ours {
			if !t.has(dir) {
				idle(l.Dir, "it may import "+dir+", which does not exist")
			}
		}
		for _, third := range l.Third {
			if !used[l.Dir+" "+third] {
				idle(l.Dir, "it may import "+third+" and does not")
			}
		}
	}
	for _, dir := range h.TestOurs {
		if !t.has(dir) {
			idle("tests", "they may import "+dir+", which does not exist")
		}
	}
	return found
}

// checkDoors judges who imports the packages that only some may.
func checkDoors(t *Tree, h House) (found []Violation) {
	for _, d := range h.Doors {
		if !t.has(d.Dir) {
			found = append(found, Violation{"vacuous", d.Dir, "only some may import it, and it does not exist"})
		}
		for _, f := range t.Files {
			for _, imported := range f.Imports {
				if dir, ours := t.ours(imported); ours && within(d.Dir, dir) && !within(d.Dir, f.Dir) && !anyWithin(d.By, f.Dir) {
					found = append(found, Violation{"doors", f.Path, fmt.Sprintf("only %s may import %s", strings.Join(d.By, ", "), dir)})
				}
			}
		}
	}
	return found
}

// checkTop judges the names beside go.mod.
func checkTop(t *Tree, h House) (found []Violation) {
	for _, name := range t.top {
		if name[0] != '.' && !slices.Contains(h.Top, name) {
			found = append(found, Violation{"top", name, "it does not belong beside go.mod"})
		}
	}
	return found
}
