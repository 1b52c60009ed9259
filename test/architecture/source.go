package architecture

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule is one rule on the source: Find gives the places in a file that break it.
type Rule struct {
	Name string
	Why  string // what to do instead
	In   func(*File) bool
	Find func(*File) []token.Pos
}

// checkRules runs every rule over the files that it is about.
func checkRules(t *Tree, h House) (found []Violation) {
	for _, r := range h.Rules {
		judged := 0
		for _, f := range t.Files {
			if !r.In(f) {
				continue
			}
			judged++
			for _, pos := range r.Find(f) {
				found = append(found, Violation{r.Name, f.at(pos), r.Why})
			}
		}
		if judged == 0 {
			found = append(found, Violation{"vacuous", r.Name, "no file is judged by this rule"})
		}
	}
	return found
}

// shipped files are what a host links: neither tests nor what is for tests.
func shipped(f *File) bool { return !f.Test && !within("test/...", f.Dir) }

// tests are the files that run in tests alone.
func tests(f *File) bool { return !shipped(f) }

// outside are the shipped files in none of the directories.
func outside(dirs ...string) func(*File) bool {
	return func(f *File) bool { return shipped(f) && !anyWithin(dirs, f.Dir) }
}

// uses finds pkg.name for each of the names, called or not.
func uses(pkg string, names ...string) func(*File) []token.Pos {
	return func(f *File) (found []token.Pos) {
		local := f.importName(pkg)
		if local == "" {
			return nil
		}
		each(f, func(sel *ast.SelectorExpr) {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, sel.Sel.Name) {
				found = append(found, sel.Pos())
			}
		})
		return found
	}
}

// imports finds the import of a package or of one below it.
func imports(pkg string) func(*File) []token.Pos {
	return func(f *File) (found []token.Pos) {
		for i, imported := range f.Imports {
			if within(pkg+"/...", imported) {
				found = append(found, f.ast.Imports[i].Pos())
			}
		}
		return found
	}
}

// goClock finds every way to Go's time of day: time.Now and its kin, a call of
// anything named Now, and whatever is called Clock.
func goClock(f *File) []token.Pos {
	found := uses("time", "Now", "Since", "Until")(f)
	each(f, func(call *ast.CallExpr) {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Now" && !slices.Contains(found, call.Pos()) {
			found = append(found, call.Pos())
		}
	})
	each(f, func(id *ast.Ident) {
		if id.Name == "Clock" {
			found = append(found, id.Pos())
		}
	})
	return found
}

// literals finds string literals that match.
func literals(pattern string) func(*File) []token.Pos {
	re := regexp.MustCompile(pattern)
	return func(f *File) (found []token.Pos) {
		each(f, func(lit *ast.BasicLit) {
			if lit.Kind != token.STRING {
				return
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && re.MatchString(text) {
				found = append(found, lit.Pos())
			}
		})
		return found
	}
}

// comments finds comments that match.
func comments(pattern string) func(*File) []token.Pos {
	re := regexp.MustCompile(pattern)
	return func(f *File) (found []token.Pos) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if re.MatchString(c.Text) {
					found = append(found, c.Pos())
				}
			}
		}
		return found
	}
}

// sleeps finds time.Sleep, but for files that test in a bubble, where time is not real.
func sleeps(f *File) []token.Pos {
	if f.importName("testing/synctest") != "" {
		return nil
	}
	return uses("time", "Sleep")(f)
}

// skips finds calls that skip a test.
func skips(f *File) (found []token.Pos) {
	each(f, func(call *ast.CallExpr) {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
			found = append(found, call.Pos())
		}
	})
	return found
}

// panics finds panic outside functions whose name begins with Must.
func panics(f *File) (found []token.Pos) {
	each(f, func(fn *ast.FuncDecl) {
		if strings.HasPrefix(fn.Name.Name, "Must") || fn.Body == nil {
			return
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
					found = append(found, call.Pos())
				}
			}
			return true
		})
	})
	return found
}

// inits finds func init.
func inits(f *File) (found []token.Pos) {
	each(f, func(fn *ast.FuncDecl) {
		if fn.Recv == nil && fn.Name.Name == "init" {
			found = append(found, fn.Pos())
		}
	})
	return found
}

// each visits every node of one type.
func each[N ast.Node](f *File, visit func(N)) {
	for _, n := range f.nodes {
		if node, ok := n.(N); ok {
			visit(node)
		}
	}
}
