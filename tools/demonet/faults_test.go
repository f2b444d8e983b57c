package main

import (
	"path/filepath"
	"testing"

	"fedpvi/tools/plant/overlay"
)

// The test only checks that the edits fit. The command demonet outcomes builds these daemons and
// checks that it finds the faults.
func TestEditsFitTheDaemons(t *testing.T) {
	for name, edits := range map[string][]overlay.Edit{
		"observed": append(observing(), faultEdits()...), "attacking": attackEdits(), "seeded": seeding(),
	} {
		if _, err := overlay.Write(filepath.Join("..", ".."), t.TempDir(), observer, edits); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
