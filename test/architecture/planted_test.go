package architecture

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const ours = "github.com/rowlock/rowlock/"

// planted are violations put into the real tree, in memory: the rules in force
// must report each. Only is the file that the report names.
var planted = []struct {
	name, rule, path, source string
	links                    []string // what the file's package now links, for the graph
}{
	{name: "an outward import of the domain", rule: "imports", path: "domain/x.go", source: `package domain; import _ "` + ours + `ports/driven"`},
	{name: "the domain reads files", rule: "imports", path: "domain/x.go", source: `package domain; import _ "os/exec"`},
	{name: "the domain logs", rule: "imports", path: "domain/x.go", source: `package domain; import _ "log/slog"`},
	{name: "a third party in a port", rule: "imports", path: "ports/driven/x.go", source: `package driven; import _ "github.com/uptrace/bun"`},
	{name: "ports know each other", rule: "imports", path: "ports/driving/x.go", source: `package driving; import _ "` + ours + `ports/driven"`},
	{name: "an import behind a build tag", rule: "imports", path: "application/inspect/x_plan9.go", source: "//go:build never\n\npackage inspect\n\nimport _ \"" + ours + "adapters/driven/memstore\""},
	{name: "a sibling service", rule: "imports", path: "application/inspect/x.go", source: `package inspect; import _ "` + ours + `application/operate"`},
	{name: "a sibling adapter", rule: "imports", path: "adapters/driven/zaplog/x.go", source: `package zaplog; import _ "` + ours + `adapters/driven/system"`},
	{name: "a sibling adapter in a test", rule: "imports", path: "adapters/driven/zaplog/x_test.go", source: `package zaplog; import _ "` + ours + `adapters/driven/httpjob"`},
	{name: "a driving adapter knows a service", rule: "imports", path: "adapters/driving/cli/x.go", source: `package cli; import _ "` + ours + `application/operate"`},
	{name: "the suite knows a store", rule: "imports", path: "test/conformance/x.go", source: `package conformance; import _ "` + ours + `adapters/driven/memstore"`},
	{name: "a package without a row", rule: "layers", path: "application/reports/x.go", source: `package reports`},
	{name: "a file in the root", rule: "layers", path: "x.go", source: `package rowlock`},
	{name: "an adapter links every store", rule: "doors", path: "adapters/driving/cli/x.go", source: `package cli; import _ "` + ours + `bootstrap/backends"`},
	{name: "fx in an adapter", rule: "fx", path: "adapters/driven/zaplog/x.go", source: `package zaplog; import _ "go.uber.org/fx"`},
	{name: "SQL in a service", rule: "sql", path: "application/operate/x.go", source: `package operate; import _ "database/sql"`},
	{name: "time.Now under another name", rule: "clock", path: "application/operate/x.go", source: `package operate; import clock "time"; var now = clock.Now`},
	{name: "time.Since", rule: "elapsed", path: "application/operate/x.go", source: `package operate; import "time"; func age(t time.Time) any { return time.Since(t) }`},
	{name: "Go's clock in a claim", rule: "store clock", path: "adapters/driven/memstore/claim_x.go", source: `package memstore; func due(c interface{ Now() int }) any { return c.Now() }`},
	{name: "a Clock in a settle", rule: "store clock", path: "adapters/driven/bunstore/settle_x.go", source: `package bunstore; import "` + ours + `ports/driven"; var clock driven.Clock`},
	{name: "lock words outside claim.go", rule: "lock words", path: "adapters/driven/bunstore/x.go", source: "package bunstore; const q = `select 1 for  update skip\nlocked`"},
	{name: "a sleep in a test", rule: "sleep", path: "domain/x_test.go", source: `package domain; import "time"; func wait() { time.Sleep(1) }`},
	{name: "a skipped test", rule: "skip", path: "domain/x_test.go", source: `package domain; import "testing"; func TestX(t *testing.T) { t.Skip() }`},
	{name: "a panic", rule: "panic", path: "application/operate/x.go", source: `package operate; func x() { func() { panic(1) }() }`},
	{name: "an init", rule: "init", path: "application/operate/x.go", source: `package operate; func init() {}`},
	{name: "unfinished work", rule: "unfinished", path: "application/operate/x.go", source: "package operate // TODO" + ": later"},
	{name: "an interface of six methods", rule: "size", path: "ports/driven/x.go", source: `package driven; type X interface { A(); B(); C(); D(); E(); F() }`},
	{name: "a long function", rule: "size", path: "domain/x.go", source: "package domain\nfunc x() {" + strings.Repeat("\n", 40) + "}\n"},
	{name: "a long file", rule: "size", path: "domain/x_test.go", source: "package domain\n" + strings.Repeat("\n", 300)},
	{name: "a case that does not exist", rule: "cases", path: "ports/driven/x.go", source: "package driven\n\n// X must be right (claim/never).\ntype X int\n"},
	{name: "a store linked into the fx module", rule: "reach", path: "bootstrap/rowlockfx/x.go", source: `package rowlockfx`, links: []string{ours + "adapters/driven/memstore"}},
	{name: "the network behind a port", rule: "reach", path: "ports/driven/x.go", source: `package driven`, links: []string{"net/http"}},
	{name: "a test library in the binary", rule: "reach", path: "bootstrap/cmd/rowlock/x.go", source: `package main`, links: []string{"net/http/httptest", "testing"}},
}

func TestPlantedViolationsAreReported(t *testing.T) {
	tree, graph := loaded(t)
	standing := Check(tree, graph, TheHouse())
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			bad := tree.with(t, fstest.MapFS{p.path: &fstest.MapFile{Data: []byte(p.source)}})
			dir := bad.Files[len(bad.Files)-1].Dir
			linked := maps.Clone(graph)
			linked[ours+dir] = append(slices.Clone(graph[ours+dir]), p.links...)
			var fresh []Violation
			for _, v := range Check(bad, linked, TheHouse()) {
				if !slices.Contains(standing, v) {
					fresh = append(fresh, v)
				}
			}
			named := func(v Violation) bool {
				return v.Rule == p.rule && (strings.HasPrefix(v.Where, p.path) || v.Where == ours+dir)
			}
			if !slices.ContainsFunc(fresh, named) {
				t.Errorf("not reported as %q; reported were %v", p.rule, fresh)
			}
		})
	}
}

// with gives a copy of the tree that has these files too.
func (t *Tree) with(tb testing.TB, more fstest.MapFS) *Tree {
	tb.Helper()
	grown := *t
	grown.Files = slices.Clone(t.Files)
	for p := range more {
		if err := grown.add(more, p); err != nil {
			tb.Fatal(err)
		}
	}
	return &grown
}
