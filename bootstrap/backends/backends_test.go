package backends_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/domain"
)

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.db")
	for dsn, name := range map[string]string{"memory:": "memory", "sqlite:" + file: "sqlite"} {
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
		"mysql://app:geheim@db/app":                                         {domain.Unsupported, works},
		"sqlserver://app:geheim@db":                                         {domain.Unsupported, works},
		"mongodb://app:geheim@127.0.0.1:1/app?serverSelectionTimeoutMS=200": {domain.Unavailable, "reached"},
		"mongodb://app:geheim@":                                             {domain.Invalid, "URI"},
		"mongodb+srv://app:geheim@a.b:1":                                    {domain.Invalid, "URI"},
		"redis://:geheim@db":                                                {domain.Invalid, works},
		"geheim.db":                                                         {domain.Invalid, works},
		"":                                                                  {domain.Invalid, works},
		"sqlite:":                                                           {domain.Invalid, "memory:"},
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
	if is, err := backends.Fresh(t.Context(), "memory:"); is || err != nil {
		t.Errorf("memory: %v, %v", is, err)
	}
	if _, err := backends.Fresh(t.Context(), "mysql://db"); domain.CodeOf(err) != domain.Unsupported {
		t.Errorf("mysql: %v", err)
	}
}
