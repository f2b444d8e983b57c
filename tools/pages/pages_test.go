//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plain matches a program's bare name, without a path.
var plain = regexp.MustCompile(`^[a-z0-9]+$`)

func TestCommandsPrintWhatThePagesShow(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	root, programs := filepath.Join("..", ".."), t.TempDir()
	if err := build(root, programs); err != nil {
		t.Fatal(err)
	}
	pages, err := withCommands(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 8 {
		t.Errorf("only %d pages have commands: the pattern no longer fits them", len(pages))
	}
	for _, p := range pages {
		t.Run(filepath.Base(p.path), func(t *testing.T) {
			t.Parallel()
			if os.Getenv("FEDPVI_LONG") == "" {
				p.commands = slices.DeleteFunc(p.commands, func(c *command) bool { return c.slow })
			}
			for _, c := range p.commands {
				if name, _, _ := strings.Cut(c.line, " "); c.terminal == "" && plain.MatchString(name) {
					if _, err := exec.LookPath(name); err != nil {
						t.Skip(err)
					}
				}
			}
			outputs, err := p.play(t.Context(), t.TempDir(), programs)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range p.commands {
				if err := c.compare(outputs[i]); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
