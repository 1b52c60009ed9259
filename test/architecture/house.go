package architecture

// The words of the import table.
var (
	core    = []string{"domain", "ports/driven", "ports/driving"}
	noWorld = []string{"database/sql", "net", "os", "log"}
	inward  = []string{"domain", "ports/...", "application/...", "adapters/...", "migrations/..."}
)

// TheHouse is the shape of Rowlock. A new package needs a row here.
func TheHouse() House {
	return House{
		Layers:    append(inner(), append(adapters(), outer()...)...),
		TestOurs:  []string{"adapters/driven/memstore", "adapters/driven/retrystore", "adapters/driven/system", "test/conformance", "test/faults", "test/storekit", "test/servers", "test/bench"},
		TestThird: []string{"go.uber.org/goleak"},
		Doors: []Door{
			{Dir: "bootstrap/backends", By: []string{"bootstrap/rowlock", "bootstrap/cmd/...", "test/e2e"}},
			{Dir: "bootstrap/rowlock", By: []string{"bootstrap/cmd/...", "test/..."}},
			{Dir: "bootstrap/rowlockfx", By: []string{"test/..."}},
			{Dir: "bootstrap/cmd/...", By: []string{"test/..."}},
		},
		Reaches: []Reach{
			{From: []string{"domain", "ports/..."}, Never: []string{"database/sql/...", "net/...", "os/exec", "log/...", "testing/..."}},
			{From: []string{"application/..."}, Never: []string{"database/sql/...", "net/...", "os/exec", "./adapters/...", "./bootstrap/...", "testing/..."}},
			// No driver does without database/sql; the driver package below it comes with google/uuid.
			{From: []string{"bootstrap/rowlockfx"}, Never: []string{"database/sql", "./adapters/driven/memstore/...", "./adapters/driven/bunstore/...", "./adapters/driven/mongostore/...", "./migrations/...", "testing/..."}},
			{From: []string{"adapters/...", "bootstrap/..."}, Never: []string{"testing/...", "./test/..."}},
		},
		Rules: Rules(),
		Budgets: Budgets{
			File: 300, Func: 40, TestFunc: 80, Methods: 5,
			Exempt: []string{"test/conformance", "migrations"},
		},
		Top: []string{
			"domain", "ports", "application", "adapters", "bootstrap", "migrations", "test", "docs", "go.mod", "go.sum",
			"Taskfile.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE",
		},
		Ports:      "ports/driven",
		Suite:      "test/conformance",
		Exceptions: exceptions(),
	}
}

// exceptions are the breaches that stand, each with its reason.
func exceptions() []Exception {
	return []Exception{
		{"skip", "test/conformance/run.go", "a store's own Except, whose reason is printed, and optional categories whose capability is absent"},
		{"skip", "test/conformance/bulk.go", "a backend that says its bulk calls are not atomic; the long form, which ROWLOCK_STRESS=1 runs"},
		{"skip", "test/servers/environment.go", "a machine without servers; ROWLOCK_REQUIRE turns it into a failure"},
	}
}

func inner() []Layer {
	return []Layer{
		{Dir: "domain", NoStd: noWorld},
		{Dir: "ports/driving", Ours: []string{"domain"}, NoStd: noWorld},
		{Dir: "ports/driven", Ours: []string{"domain"}, NoStd: noWorld},
		{Dir: "application/work", Ours: core, NoStd: noWorld},
		{Dir: "application/enqueue", Ours: append([]string{"application/work"}, core...), NoStd: noWorld},
		// A batch is an enqueue: its members and its callback are judged by the client.
		{Dir: "application/batches", Ours: append([]string{"application/work", "application/enqueue"}, core...), NoStd: noWorld},
		{Dir: "application/runner", Ours: append([]string{"application/work"}, core...), NoStd: noWorld},
		{Dir: "application/upkeep", Ours: core, NoStd: noWorld},
		{Dir: "application/operate", Ours: core, NoStd: noWorld},
		{Dir: "application/inspect", Ours: core, NoStd: noWorld},
		{Dir: "application/schedules", Ours: core, NoStd: noWorld},
	}
}

func adapters() []Layer {
	store := []string{"domain", "ports/driven"}
	dialect := append([]string{"adapters/driven/bunstore", "migrations"}, store...)
	return []Layer{
		{Dir: "adapters/driving/cli", Ours: []string{"domain", "ports/driving"}, Third: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/jedib0t/go-pretty/v6"}, NoStd: []string{"database/sql", "net"}},
		{Dir: "adapters/driven/memstore", Ours: store, NoStd: []string{"database/sql", "net", "os"}},
		{Dir: "adapters/driven/bunstore", Ours: store, Third: []string{"github.com/uptrace/bun"}},
		{Dir: "adapters/driven/bunstore/sqlitestore", Ours: dialect, Third: []string{"github.com/uptrace/bun", "modernc.org/sqlite"}},
		{Dir: "adapters/driven/bunstore/pgstore", Ours: dialect, Third: []string{"github.com/uptrace/bun", "github.com/jackc/pgx/v5"}},
		{Dir: "adapters/driven/bunstore/mysqlstore", Ours: dialect, Third: []string{"github.com/uptrace/bun", "github.com/go-sql-driver/mysql"}},
		{Dir: "adapters/driven/bunstore/mssqlstore", Ours: dialect, Third: []string{"github.com/uptrace/bun", "github.com/microsoft/go-mssqldb"}},
		{Dir: "adapters/driven/mongostore", Ours: append([]string{"migrations"}, store...), Third: []string{"go.mongodb.org/mongo-driver/v2"}},
		{Dir: "adapters/driven/system", Ours: store, Third: []string{"github.com/google/uuid"}},
		{Dir: "adapters/driven/zaplog", Ours: store, Third: []string{"go.uber.org/zap"}},
		{Dir: "adapters/driven/retrystore", Ours: store},
		{Dir: "adapters/driven/pgnotify", Ours: store, Third: []string{"github.com/jackc/pgx/v5"}},
		{Dir: "adapters/driven/httpjob", Ours: store},
		{Dir: "adapters/driven/execjob", Ours: store},
		{Dir: "migrations"},
	}
}

func outer() []Layer {
	suite := append([]string{"application/..."}, core...)
	return []Layer{
		{Dir: "bootstrap/rowlockfx", Ours: append([]string{"application/...", "adapters/driven/retrystore", "adapters/driven/system", "adapters/driven/zaplog"}, core...), Third: []string{"go.uber.org/fx", "go.uber.org/zap"}},
		{Dir: "bootstrap/backends", Ours: inward},
		{Dir: "bootstrap/config", Ours: []string{"domain"}, Third: []string{"go.yaml.in/yaml/v3"}},
		{Dir: "bootstrap/rowlock", Ours: append([]string{"bootstrap/backends"}, inward...), Third: []string{"go.uber.org/zap"}},
		{Dir: "bootstrap/cmd/rowlock", Ours: append([]string{"bootstrap/rowlock", "bootstrap/backends", "bootstrap/config"}, inward...), Third: []string{"go.uber.org/zap"}},
		{Dir: "test/conformance", Ours: append([]string{"test/faults"}, suite...)},
		{Dir: "test/rowlocktest", Ours: append([]string{"bootstrap/rowlock", "adapters/driven/memstore", "adapters/driven/system"}, suite...)},
		{Dir: "test/faults", Ours: suite, Third: []string{"modernc.org/sqlite"}},
		{Dir: "test/storekit", Ours: append([]string{"adapters/driven/system", "test/conformance", "test/faults"}, suite...)},
		{Dir: "test/servers", Third: []string{"github.com/jackc/pgx/v5", "github.com/go-sql-driver/mysql", "github.com/microsoft/go-mssqldb", "go.mongodb.org/mongo-driver/v2"}},
		{Dir: "test/bench", Ours: suite},
		{Dir: "test/architecture"},
		{Dir: "test/examples/...", Ours: append([]string{"bootstrap/...", "test/conformance"}, inward...), Third: []string{"go.uber.org/fx"}},
		{Dir: "test/e2e", Ours: append([]string{"bootstrap/..."}, inward...)},
	}
}
