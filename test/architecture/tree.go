package architecture

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tree is the source of one module.
type Tree struct {
	Module string
	Files  []*File
	fset   *token.FileSet
	top    []string // the names beside go.mod
}

// File is one parsed .go file. Its path is relative to the module's root.
type File struct {
	Path    string
	Dir     string
	Base    string
	Test    bool // ends in _test.go
	Lines   int
	Imports []string
	ast     *ast.File
	nodes   []ast.Node // all of ast, flat: every rule walks it
	fset    *token.FileSet
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// Load reads and parses the tree. What go itself ignores (testdata, names that
// begin with a dot or an underscore) is ignored here.
func Load(root fs.FS) (*Tree, error) {
	mod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return nil, err
	}
	name := moduleLine.FindSubmatch(mod)
	if name == nil {
		return nil, fmt.Errorf("go.mod names no module")
	}
	t := &Tree{Module: string(name[1]), fset: token.NewFileSet()}
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		t.top = append(t.top, e.Name())
	}
	err = fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && ignored(p, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go") || ignored(p, d.Name()):
			return nil
		}
		return t.add(root, p)
	})
	return t, err
}

func ignored(p, name string) bool {
	return p != "." && (name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_')
}

func (t *Tree) add(root fs.FS, p string) error {
	src, err := fs.ReadFile(root, p)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &File{
		Path: p, Dir: path.Dir(p), Base: path.Base(p), Test: strings.HasSuffix(p, "_test.go"),
		Lines: bytes.Count(src, []byte("\n")), ast: parsed, fset: t.fset,
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		f.nodes = append(f.nodes, n)
		return true
	})
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		f.Imports = append(f.Imports, imported)
	}
	t.Files = append(t.Files, f)
	return nil
}

// ours gives the path of a package of this module relative to its root.
func (t *Tree) ours(imported string) (dir string, ok bool) {
	if imported == t.Module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.Module+"/")
}

// has says whether any file lies in what the pattern names.
func (t *Tree) has(pattern string) bool {
	return slices.ContainsFunc(t.Files, func(f *File) bool { return within(pattern, f.Dir) })
}

// within says whether a path is the pattern's, or below it where it ends in "/...".
func within(pattern, p string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return p == base || strings.HasPrefix(p, base+"/")
	}
	return p == pattern
}

func anyWithin(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return within(pattern, p) })
}

// at is a place in a file, for people.
func (f *File) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.Path, f.fset.Position(pos).Line)
}

// importName is the name that the file gives to a package, "" if it does not import it.
func (f *File) importName(pkg string) string {
	for i, imported := range f.Imports {
		if imported != pkg {
			continue
		}
		if name := f.ast.Imports[i].Name; name != nil {
			return name.Name
		}
		return path.Base(pkg)
	}
	return ""
}
