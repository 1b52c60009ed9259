package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

// recordVar names a file that takes a line for each case which passed: the program of the
// test and the test, so that whoever runs many packages can say what each store was asked.
const recordVar = "ROWLOCK_SUITE_RECORD"

func recordPass(t *testing.T) {
	path := os.Getenv(recordVar)
	if path == "" {
		return
	}
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			return
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = file.WriteString(filepath.Base(os.Args[0]) + " " + t.Name() + "\n")
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			t.Error(err)
		}
	})
}
