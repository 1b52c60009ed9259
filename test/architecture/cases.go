package architecture

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// caseName is how a port's comment names the case of the suite that shows it.
var caseName = regexp.MustCompile(`\(([a-z0-9]+/(?:[a-z0-9-]+|\*))\)`)

// checkCases finds cases that the ports name and the suite does not have.
func checkCases(t *Tree, h House) (found []Violation) {
	known, named := suiteCases(t, h.Suite), 0
	for _, f := range t.Files {
		if f.Dir != h.Ports || f.Test {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, m := range caseName.FindAllStringSubmatch(group.Text(), -1) {
				named++
				category, all := strings.CutSuffix(m[1], "*")
				if !slices.ContainsFunc(known, func(c string) bool { return c == m[1] || (all && strings.HasPrefix(c, category)) }) {
					found = append(found, Violation{"cases", f.at(group.Pos()), h.Suite + " has no case " + m[1]})
				}
			}
		}
	}
	if named == 0 || len(known) == 0 {
		found = append(found, Violation{"vacuous", "cases", "no port names a case, or the suite has none"})
	}
	return found
}

// suiteCases reads the suite's tables: a category is a composite literal that
// begins with its name and calls or names the function whose own literals begin
// with the names of the cases.
func suiteCases(t *Tree, dir string) (cases []string) {
	lists := map[string][]string{} // by function
	type category struct{ name, list string }
	var categories []category
	for _, f := range t.Files {
		if f.Dir != dir || f.Test {
			continue
		}
		each(f, func(fn *ast.FuncDecl) {
			ast.Inspect(fn, func(n ast.Node) bool {
				lit, ok := n.(*ast.CompositeLit)
				if !ok || len(lit.Elts) < 2 {
					return true
				}
				if name := text(lit.Elts[0]); name != "" {
					lists[fn.Name.Name] = append(lists[fn.Name.Name], name)
					categories = append(categories, category{name, called(lit.Elts[1])})
				}
				return true
			})
		})
	}
	for _, c := range categories {
		for _, name := range lists[c.list] {
			cases = append(cases, c.name+"/"+name)
		}
	}
	return cases
}

// text is the string of a literal, also behind a field's name.
func text(e ast.Expr) string {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		e = kv.Value
	}
	if lit, ok := e.(*ast.BasicLit); ok {
		if s, err := strconv.Unquote(lit.Value); err == nil {
			return s
		}
	}
	return ""
}

// called is the name of the function that an expression calls, also behind a field's name.
func called(e ast.Expr) string {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		e = kv.Value
	}
	if call, ok := e.(*ast.CallExpr); ok {
		if id, ok := call.Fun.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}
