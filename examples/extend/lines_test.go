package extend_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The test checks that no example is longer than 60 lines.
func TestExamplesAreShort(t *testing.T) {
	for _, kind := range []string{"model.stan", "model.toml", "model_test.go", "partition_test.go", "clip_test.go", "solver_test.go", "event_test.go", "solver.py", "python_test.go"} {
		text, err := os.ReadFile(filepath.Clean(kind))
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 60 {
			t.Errorf("%s has %d lines", kind, lines)
		}
	}
}
