package e2e

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/test/servers"
)

// TestRights: a user with the rights of docs/stores.md for who migrates can do
// that, one with those for who works can do everything else, and nothing more is
// needed or possible.
func TestRights(t *testing.T) {
	sections := map[string]string{"postgres": "## PostgreSQL", "mysql": "## MySQL and MariaDB", "mariadb": "## MySQL and MariaDB"}
	some := slices.DeleteFunc(stores(), func(s store) bool { return sections[s.name] == "" })
	on(t, some, func(t *testing.T, b *box) { testRights(t, b, documented(t, sections[b.store.name])) })
}

func testRights(t *testing.T, b *box, rights [2][]string) {
	u, err := url.Parse(b.dsn())
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(u.Path, "/")
	mark := database[max(len(database)-8, 0):] // of this test alone
	users := [2]string{"rowlock_a_" + mark, "rowlock_b_" + mark}
	for _, user := range users {
		b.makeUser(user)
		defer b.dropUser(user)
	}
	as := func(user string) *box {
		w := *u
		w.User = url.UserPassword(user, password)
		return b.with(storeVar + w.String())
	}
	grant := func(statements []string) {
		names := strings.NewReplacer("rowlock_migrate", users[0], "rowlock_work", users[1], " app.", " `"+database+"`.")
		for _, text := range statements {
			servers.Exec(t, b.dsn(), names.Replace(text))
		}
	}
	grant(rights[0])
	migrates, works := as(users[0]), as(users[1])
	migrates.ok("migrate", "up")
	if r := works.fails(6, "stats"); !strings.Contains(r.err, "lacks a right") {
		t.Errorf("without rights: %v", r)
	}
	grant(rights[1])
	works.ok("migrate", "up") // nothing is to do
	works.ok("enqueue", "exec", `{"command":"true"}`, "--keep-done", "1ms", "--unique", "u")
	works.ok("enqueue", "exec", `{}`)
	works.ok("work", "--once", "--allow-exec")
	eventually(t, "the done job is pruned", func() bool {
		works.ok("prune")
		return works.stats().Totals.Done == 0
	})
	works.ok("dead", "retry", "--all")
	works.ok("jobs", "delete", works.jobs()[0].ID)
	for _, args := range [][]string{{"demo"}, {"migrate", "down", "--to", "0"}} {
		if r := works.fails(6, args...); !strings.Contains(r.err, "lacks a right") {
			t.Errorf("who works: %v", r)
		}
	}
	migrates.ok("migrate", "down", "--to", "0")
}

// password is asked for by servers that ask for any.
const password = "A-word-4-tests"

// makeUser and dropUser are said in the words of the store.
func (b *box) makeUser(user string) {
	b.t.Helper()
	if b.store.name == "postgres" {
		servers.Exec(b.t, b.dsn(), "CREATE ROLE "+user+" LOGIN PASSWORD '"+password+"'")
	} else {
		servers.Exec(b.t, b.dsn(), "CREATE USER '"+user+"'@'%' IDENTIFIED BY '"+password+"'")
	}
}

func (b *box) dropUser(user string) {
	b.t.Helper()
	if b.store.name == "postgres" {
		servers.Exec(b.t, b.dsn(), "DROP OWNED BY "+user, "DROP ROLE "+user)
	} else {
		servers.Exec(b.t, b.dsn(), "DROP USER '"+user+"'@'%'")
	}
}

// documented reads the statements for who migrates and for who works.
func documented(t *testing.T, section string) (rights [2][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n"+section+"\n")
	_, after, _ = strings.Cut(after, "```sql\n")
	block, _, _ := strings.Cut(after, "```")
	who := -1
	for line := range strings.Lines(block) {
		if strings.HasPrefix(line, "-- who ") {
			who++
		} else if who >= 0 && who < 2 {
			rights[who] = append(rights[who], strings.TrimSpace(line))
		}
	}
	if len(rights[0]) == 0 || len(rights[1]) == 0 {
		t.Fatalf("docs/stores.md says nothing of rights in %s: %q", section, block)
	}
	return rights
}
