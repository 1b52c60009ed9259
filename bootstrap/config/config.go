package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rowlock/rowlock/domain"
)

// File is what a file says.
type File struct {
	Namespace string
	Schedules []domain.Schedule
}

// maxFile is the largest file that is read, in bytes.
const maxFile = 8 << 20

const op = "read config"

// Load reads a file.
func Load(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, &domain.Fault{Code: domain.Invalid, Op: op, Subject: path, Hint: "it cannot be opened: " + reason(err), Err: err}
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return File{}, &domain.Fault{Code: domain.Invalid, Op: op, Subject: path, Hint: "it cannot be read: " + reason(err), Err: err}
	}
	file, err := Read(text)
	var fault *domain.Fault
	if errors.As(err, &fault) {
		named := *fault
		named.Op, named.Subject = op, strings.TrimSuffix(path+": "+fault.Subject, ": ")
		return File{}, &named
	}
	return file, err
}

// reason is the system's word for it, without the path.
func reason(err error) string {
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}

// Read reads the text of a file.
func Read(text []byte) (File, error) {
	if len(text) > maxFile {
		return File{}, bad("", fmt.Sprintf("it has more than %d bytes", maxFile))
	}
	var doc document
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return File{}, misread(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return File{}, bad("", "it holds more than one document")
	}
	return doc.file()
}

func bad(subject, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: op, Subject: subject, Hint: hint}
}

// misread is a fault of the text. The library names the line first, and Go's types last.
func misread(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	var typed *yaml.TypeError
	if errors.As(err, &typed) && len(typed.Errors) > 0 {
		message = typed.Errors[0]
	}
	message, _, _ = strings.Cut(message, " in type config.")
	message, _, _ = strings.Cut(message, " into ")
	line, hint, found := strings.Cut(message, ": ")
	if !found || !strings.HasPrefix(line, "line ") {
		line, hint = "", message
	}
	return bad(line, domain.CleanText(strings.TrimSpace(hint), 400))
}
