// Package architecture keeps the shape of the tree: who may import whom, what a
// layer may reach, a few rules on the source, and the budgets of size. Its tables
// (house.go, rules.go) are the rules in force; docs/adr/0002-hexagon.md says why.
//
// It reads every .go file with go/parser, build tags ignored, so that a file
// behind a tag is judged too. No rule may be vacuous: a row that matches no file,
// an allowance that nobody needs and an exception that is no longer one fail.
//
// It may import the standard library only and must not know any package of Rowlock.
package architecture
