package overlay

import (
	"path/filepath"
	"testing"
)

// An anchor that does not occur exactly once is an error, so that no fault is silently omitted.
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
