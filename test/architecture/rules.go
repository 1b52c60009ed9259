package architecture

import "regexp"

// clockless are the files of an adapter whose every moment is the store's own.
var clockless = regexp.MustCompile(`^(claim|settle|recover|renew|lease|slot|admit|wake|reap)[a-z_]*\.go$`)

// Rules are the rules on the source.
func Rules() []Rule { return append(timeAndLocks(), habits()...) }

func timeAndLocks() []Rule {
	return []Rule{
		{
			Name: "clock", Why: "take a driven.Clock: only adapters/driven/system asks the machine for the time",
			In: outside("adapters/driven/system"), Find: uses("time", "Now"),
		},
		{
			Name: "elapsed", Why: "subtract two moments of a driven.Clock: they carry the monotonic reading",
			In: outside("adapters/driven/system", "application/runner"), Find: uses("time", "Since", "Until"),
		},
		{
			Name: "store clock", Why: "no moment of Go enters a lease, slot or due predicate: send a duration",
			In: func(f *File) bool {
				return within("adapters/driven/...", f.Dir) && clockless.MatchString(f.Base) && !f.Test
			},
			Find: goClock,
		},
		{
			Name: "lock words", Why: "locking belongs in claim.go alone; use its constants elsewhere",
			In:   func(f *File) bool { return !f.Test && f.Base != "claim.go" && f.Dir != "test/architecture" },
			Find: literals(`(?i)\b(SKIP\s+LOCKED|READPAST|UPDLOCK|FOR\s+UPDATE)\b`),
		},
	}
}

func habits() []Rule {
	return []Rule{
		{
			Name: "fx", Why: "Rowlock works without fx: wiring is in bootstrap alone",
			In:   func(f *File) bool { return !anyWithin([]string{"bootstrap/...", "test/examples/..."}, f.Dir) },
			Find: imports("go.uber.org/fx"),
		},
		{
			Name: "sql", Why: "SQL is spoken in adapters/driven/bunstore and written in migrations alone",
			In: outside("adapters/driven/bunstore/...", "migrations/..."), Find: imports("database/sql"),
		},
		{Name: "sleep", Why: "wait on a condition with a deadline, or test in a synctest bubble", In: tests, Find: sleeps},
		{Name: "skip", Why: "a test that does not run shows nothing: fail, or name the exception", In: tests, Find: skips},
		{Name: "panic", Why: "answer an error; only a Must function may panic", In: shipped, Find: panics},
		{Name: "init", Why: "nothing runs because it was imported", In: shipped, Find: inits},
		{
			Name: "unfinished", Why: "finish it or write it down in the README's list of what is not done",
			In:   func(f *File) bool { return f.Dir != "test/architecture" },
			Find: comments(`\b(TODO|FIXME|XXX|HACK)\b`),
		},
	}
}
