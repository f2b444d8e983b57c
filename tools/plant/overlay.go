package main

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

// overlay writes copies of the edited files of the repository at root to folder. The copies
// contain all faults. It returns the path of the overlay file for the go command.
func overlay(root, folder string, faults []fault) (string, error) {
	files := map[string]string{}
	var errs []error
	for _, f := range faults {
		for _, e := range f.edits {
			if _, ok := files[e.file]; !ok {
				source, err := os.ReadFile(filepath.Join(root, e.file))
				if err != nil {
					return "", err
				}
				files[e.file] = strings.Replace(string(source), "\n\n", "\n\nimport \"fedpvi/tools/plant/planted\"\n\n", 1)
			}
			edited, err := e.apply(files[e.file])
			if err != nil {
				errs = append(errs, fmt.Errorf("fault %s: %w", f.name, err))
				continue
			}
			files[e.file] = edited
		}
	}
	if len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	replace := map[string]string{}
	for file, text := range files {
		formatted, err := format.Source([]byte(text))
		if err != nil {
			return "", fmt.Errorf("%s with faults: %w", file, err)
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

// apply returns the text of a file with the edit.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.anchor); n != 1 {
		return "", fmt.Errorf("%s has %d places that read %q: the fault must be planted anew where the code went", e.file, n, e.anchor)
	}
	return strings.Replace(text, e.anchor, e.before+e.anchor+e.after, 1), nil
}

// build builds the simulator with the given overlay file, or without an overlay if it is empty.
func build(root, overlay, program string) error {
	args := []string{"build", "-o", program}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	command := exec.Command("go", append(args, "./cmd/sim")...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
