package main

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"fedpvi/coordinator"
)

func printed(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	check(t, err)
	stdout := os.Stdout
	os.Stdout = w
	f()
	os.Stdout = stdout
	w.Close()
	text, err := io.ReadAll(r)
	check(t, err)
	return string(text)
}

func TestQuiet(t *testing.T) {
	text := printed(t, func() {
		w := watcher{quiet: true}
		for _, s := range []coordinator.Status{
			{Study: "plane", Phase: coordinator.Running, Asked: 1, Of: 2},
			{Study: "plane", Phase: coordinator.Running, Asked: 2, Of: 2},
			{Study: "plane", Phase: coordinator.Ended},
		} {
			if _, err := w.next(s); err != nil {
				t.Error(err)
			}
		}
	})
	if !strings.HasPrefix(text, "plane: ") || strings.Count(text, "\n") != 1 || strings.Contains(text, "plan 1") {
		t.Errorf("coordinator watch --quiet prints %q", text)
	}
	c := &serveCommand{Log: "text", Verbose: true}
	if log := c.logger(true); log.Enabled(t.Context(), slog.LevelInfo) || !log.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("coordinator serve --quiet must log warnings and no notes")
	}
}
