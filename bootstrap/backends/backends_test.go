package backends_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/domain"
)

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.db")
	for dsn, name := range map[string]string{"memory:": "memory", "sqlite:" + file: "sqlite", "sqlite://" + file: "sqlite"} {
		b, err := backends.Open(t.Context(), dsn, backends.Options{})
		if err != nil {
			t.Fatalf("%s: %v", dsn, err)
		}
		if b.Name != name || b.Store == nil {
			t.Errorf("%s opened %+v", dsn, b)
		}
		if err := b.Close(); err != nil {
			t.Errorf("close %s: %v", dsn, err)
		}
	}
}

func TestWhatCannotBeOpenedSaysWhatCan(t *testing.T) {
	const works = "sqlite: or memory:"
	cases := map[string]struct {
		code domain.Code
		hint string
	}{
		"postgres://app:geheim@127.0.0.1:1/app":                             {domain.Unavailable, "reached"},
		"postgresql://app:geheim@127.0.0.1:1/app":                           {domain.Unavailable, "reached"},
		"postgres://app:geheim@127.0.0.1:x/app":                             {domain.Invalid, "DSN"},
		"postgres:host=127.0.0.1 port=1 user=app password=geheim":           {domain.Unavailable, "reached"},
		"mysql://app:geheim@127.0.0.1:1/app":                                {domain.Unavailable, "reached"},
		"mariadb://app:geheim@127.0.0.1:1/app":                              {domain.Unavailable, "reached"},
		"mysql:app:geheim@tcp(127.0.0.1:1)/app":                             {domain.Unavailable, "reached"},
		"mysql://app:geheim@127.0.0.1:1/app?timeout=x":                      {domain.Invalid, "DSN"},
		"sqlserver://app:geheim@127.0.0.1:1?database=app":                   {domain.Unavailable, "reached"},
		"sqlserver:server=127.0.0.1;port=1;user id=app;password=geheim":     {domain.Unavailable, "reached"},
		"sqlserver://app:geheim@127.0.0.1:x":                                {domain.Invalid, "DSN"},
		"mongodb://app:geheim@127.0.0.1:1/app?serverSelectionTimeoutMS=200": {domain.Unavailable, "reached"},
		"mongodb://app:geheim@":                                             {domain.Invalid, "URI"},
		"mongodb+srv://app:geheim@a.b:1":                                    {domain.Invalid, "URI"},
		"redis://:geheim@db":                                                {domain.Invalid, works},
		"geheim.db":                                                         {domain.Invalid, works},
		"":                                                                  {domain.Invalid, works},
		"sqlite:":                                                           {domain.Invalid, "memory:"},
		"sqlite://app.db":                                                   {domain.Invalid, "sqlite:app.db"},
		"sqlite::memory:":                                                   {domain.Invalid, "memory:"},
	}
	for dsn, want := range cases {
		t.Run(dsn, func(t *testing.T) {
			_, err := backends.Open(t.Context(), dsn, backends.Options{})
			if domain.CodeOf(err) != want.code || !strings.Contains(domain.HintOf(err), want.hint) {
				t.Errorf("got %v, want %s with %q", err, want.code, want.hint)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("the fault shows what the DSN holds: %v", err)
			}
		})
	}
	if _, err := backends.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "x.db"), backends.Options{TablePrefix: `a"b`}); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a bad prefix: %v", err)
	}
}

// A server that takes connections and says nothing is not there either: that is
// no end of the caller's context.
func TestServerThatIsSilent(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, form := range []string{
		"postgres://app@%s/app?connect_timeout=1",
		"mysql://app@%s/app?readTimeout=300ms",
		"sqlserver://app:x@%s?database=app&connection+timeout=1",
		"mongodb://%s/app?serverSelectionTimeoutMS=300",
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			_, err := backends.Open(t.Context(), fmt.Sprintf(form, silent.Addr()), backends.Options{})
			if domain.CodeOf(err) != domain.Unavailable || domain.HintOf(err) == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFreshUntilMigrated(t *testing.T) {
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	fresh := func() bool {
		t.Helper()
		is, err := backends.Fresh(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if !fresh() {
		t.Error("no file is not fresh")
	}
	b, err := backends.Open(t.Context(), dsn, backends.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if !fresh() {
		t.Error("a file without tables is not fresh")
	}
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if fresh() {
		t.Error("a migrated file is fresh")
	}
	if is, err := backends.Fresh(t.Context(), "sqlite://app.db"); is || domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a URL with a host: %v, %v", is, err)
	}
	if is, err := backends.Fresh(t.Context(), "memory:"); is || err != nil {
		t.Errorf("memory: %v, %v", is, err)
	}
	if is, err := backends.Fresh(t.Context(), "mysql://127.0.0.1:1/app"); is || err != nil {
		t.Errorf("a server is never taken as new: %v, %v", is, err)
	}
}
