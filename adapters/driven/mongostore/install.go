package mongostore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/ports/driven"
)

// step is one migration: two files, NNNN_name.up.json and NNNN_name.down.json,
// each an array of database commands with {prefix} for the collection prefix.
type step struct {
	number   int
	name     string
	up, down []bson.D
	text     string // of the up file
}

// loadSteps reads all steps, in order.
func loadSteps(prefix string) ([]step, error) {
	files := migrations.Mongo()
	names, err := fs.Glob(files, "*.up.json")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	steps := make([]step, len(names))
	for i, file := range names {
		base := strings.TrimSuffix(file, ".up.json")
		number, name, _ := strings.Cut(base, "_")
		n, err := strconv.Atoi(number)
		if err != nil || n != i+1 {
			return nil, &domain.Fault{Code: domain.Internal, Op: "read migrations", Subject: file, Hint: fmt.Sprintf("step %d was expected", i+1)}
		}
		steps[i] = step{number: n, name: name}
		if steps[i].up, steps[i].text, err = commands(files, file, prefix); err != nil {
			return nil, err
		}
		if steps[i].down, _, err = commands(files, base+".down.json", prefix); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// commands reads one file.
func commands(files fs.FS, file, prefix string) (all []bson.D, text string, err error) {
	raw, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, "", err
	}
	raw = bytes.ReplaceAll(raw, []byte("{prefix}"), []byte(prefix))
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, "", err
	}
	all = make([]bson.D, len(parts))
	for i, part := range parts {
		if err := bson.UnmarshalExtJSON(part, false, &all[i]); err != nil {
			return nil, "", err
		}
	}
	return all, string(raw), nil
}

// print gives a step as commands that a person can run, its record included.
func (s step) print(prefix string) string {
	return fmt.Sprintf("// step %d: %s; each is for db.runCommand\n%s// then\n{\"insert\": %q, \"documents\": [{\"_id\": %d, \"name\": %q, \"applied_at\": 0}]}\n",
		s.number, s.name, s.text, prefix+"migrations", s.number, s.name)
}

var _ driven.Migrator = migrator{}
