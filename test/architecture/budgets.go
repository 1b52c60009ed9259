package architecture

import (
	"fmt"
	"go/ast"
)

// Budgets are the sizes that things may have.
type Budgets struct {
	File, Func, TestFunc, Methods int
	Exempt                        []string // directories that no size is asked of
}

// checkBudgets measures every file, function and interface.
func checkBudgets(t *Tree, h House) (found []Violation) {
	for _, f := range t.Files {
		if anyWithin(h.Budgets.Exempt, f.Dir) {
			continue
		}
		over := func(name string, size, most int, unit string) {
			if size > most {
				found = append(found, Violation{"size", f.Path + name, fmt.Sprintf("it has %d %s, the budget is %d", size, unit, most)})
			}
		}
		over("", f.Lines, h.Budgets.File, "lines")
		most := h.Budgets.Func
		if f.Test {
			most = h.Budgets.TestFunc
		}
		each(f, func(fn *ast.FuncDecl) {
			over(":"+fn.Name.Name, f.fset.Position(fn.End()).Line-f.fset.Position(fn.Pos()).Line+1, most, "lines")
		})
		each(f, func(def *ast.TypeSpec) {
			if face, ok := def.Type.(*ast.InterfaceType); ok {
				over(":"+def.Name.Name, ownMethods(face), h.Budgets.Methods, "methods")
			}
		})
	}
	for _, dir := range h.Budgets.Exempt {
		if !t.has(dir) {
			found = append(found, Violation{"vacuous", dir, "it is exempt from the budgets and does not exist"})
		}
	}
	return found
}

// ownMethods counts what the interface itself declares: a role that is composed in counts at its own place.
func ownMethods(face *ast.InterfaceType) (n int) {
	for _, m := range face.Methods.List {
		n += len(m.Names)
	}
	return n
}
