package main

import (
	"log/slog"
	"testing"
)

func TestQuietKeepsWarnings(t *testing.T) {
	for _, format := range []string{"auto", "json", "text"} {
		c := &commands{Log: format}
		if !c.logger().Enabled(t.Context(), slog.LevelInfo) {
			t.Errorf("--log %s: the log of a file has no notes", format)
		}
		c.Quiet = true
		if log := c.logger(); log.Enabled(t.Context(), slog.LevelInfo) || !log.Enabled(t.Context(), slog.LevelWarn) {
			t.Errorf("--quiet --log %s: the log must have warnings and no notes", format)
		}
	}
	if (&commands{Log: "auto"}).chatty() {
		t.Error("progress would be shown in a log")
	}
}
