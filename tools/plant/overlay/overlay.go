// Package overlay adds text to copies of source files. The resulting programs have deliberate
// faults, or functions that tests call, and the repository needs no hooks for them.
package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An Edit adds text before or after an anchor. The anchor is text that must occur exactly once in a
// file.
type Edit struct {
	File          string
	Anchor        string
	Before, After string
}

// Write writes edited copies of the repository's files to folder. root is the repository, and each
// copy imports the given package. It returns the path of the overlay file for the go command.
func Write(root, folder, imports string, edits []Edit) (string, error) {
	files := map[string]string{}
	var errs []error
	for _, e := range edits {
		if _, ok := files[e.File]; !ok {
			source, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return "", err
			}
			files[e.File] = strings.Replace(string(source), "\n\n", "\n\nimport \""+imports+"\"\n\n", 1)
		}
		edited, err := e.apply(files[e.File])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		files[e.File] = edited
	}
	if len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	replace := map[string]string{}
	for file, text := range files {
		formatted, err := format.Source([]byte(text))
		if err != nil {
			return "", fmt.Errorf("%s with edits: %w", file, err)
		}
		planted := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(planted, formatted, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = planted
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(folder, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

func (e Edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.Anchor); n != 1 {
		return "", fmt.Errorf("%s has %d places that read %q: the edit must be made anew where the code went", e.File, n, e.Anchor)
	}
	return strings.Replace(text, e.Anchor, e.Before+e.Anchor+e.After, 1), nil
}

// Build builds packages with an overlay file from [Write], or without one if overlay is empty. If
// out is empty, Build only compiles and writes no files.
func Build(root, overlay, out string, packages ...string) error {
	args := []string{"build"}
	if out != "" {
		args = append(args, "-o", out)
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	command := exec.Command("go", append(args, packages...)...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
