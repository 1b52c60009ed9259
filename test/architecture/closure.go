package architecture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// Reach is a row on what packages link, directly or through others.
type Reach struct {
	From  []string // directories of the module
	Never []string // packages of any module, "/..." takes in what is below; a leading "./" is the module's own
}

// Graph is who imports whom, test files left out.
type Graph map[string][]string

// LoadGraph asks the go command for the graph of the module in dir.
func LoadGraph(dir string) (Graph, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports,ImportMap", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	g := Graph{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
			ImportMap  map[string]string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, err
		}
		for i, imported := range p.Imports {
			if real, vendored := p.ImportMap[imported]; vendored {
				p.Imports[i] = real
			}
		}
		g[p.ImportPath] = p.Imports
	}
}

// checkReach judges the graph. Each package that a row forbids must be in the
// graph: a ban on what nobody links checks nothing.
func checkReach(module string, g Graph, h House) (found []Violation) {
	all := slices.Sorted(maps.Keys(g))
	for _, row := range h.Reaches {
		never := make([]string, len(row.Never))
		for i, p := range row.Never {
			never[i] = strings.Replace(p, "./", module+"/", 1)
			if !slices.ContainsFunc(all, func(pkg string) bool { return within(never[i], pkg) }) {
				found = append(found, Violation{"vacuous", strings.Join(row.From, ", "), "it must never reach " + p + ", which nobody links"})
			}
		}
		for _, from := range row.From {
			start := slices.DeleteFunc(slices.Clone(all), func(pkg string) bool { return !within(module+"/"+from, pkg) })
			if len(start) == 0 {
				found = append(found, Violation{"vacuous", from, "no package of this name is there to be judged"})
			}
			for _, pkg := range start {
				if chain := g.find(pkg, never); chain != nil {
					found = append(found, Violation{"reach", pkg, strings.Join(chain, " > ")})
				}
			}
		}
	}
	return found
}

// find gives the shortest chain of imports from a package to one of the patterns.
func (g Graph) find(from string, patterns []string) []string {
	for seen, queue := map[string]bool{from: true}, [][]string{{from}}; len(queue) > 0; queue = queue[1:] {
		chain := queue[0]
		for _, next := range g[chain[len(chain)-1]] {
			longer := append(slices.Clone(chain), next)
			if anyWithin(patterns, next) {
				return longer
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, longer)
			}
		}
	}
	return nil
}
