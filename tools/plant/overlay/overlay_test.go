package overlay

import (
	"path/filepath"
	"testing"
)

// Unless an anchor occurs exactly once, there must be an error, so that no fault is silently left
// out.
func TestLostAnchors(t *testing.T) {
	for _, text := range []string{"nothing\n", "anchor\nanchor\n"} {
		if _, err := (Edit{File: "a.go", Anchor: "anchor", After: "x"}).apply(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := Write(filepath.Join("..", "..", ".."), t.TempDir(), "fedpvi/tools/plant/planted", []Edit{{File: "dpmech/gate.go", Anchor: "no such line"}}); err == nil {
		t.Error("a lost anchor gives no error")
	}
}
