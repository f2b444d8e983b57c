package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fedpvi/sim/report"
)

// checkPlot returns an error if the file name in --plot has an unknown suffix. The name may be
// empty.
func checkPlot(path string) error {
	if f := plotFormat(path); path != "" && f != "svg" && f != "png" {
		return fmt.Errorf("--plot %s: the name must end in .svg or .png", path)
	}
	return nil
}

func plotFormat(path string) string { return strings.TrimPrefix(filepath.Ext(path), ".") }

// writePlot draws a figure and writes it to a file. It does nothing if the file name is empty.
func writePlot(path string, draw func() (report.Figure, error)) error {
	if path == "" {
		return nil
	}
	figure, err := draw()
	if err != nil {
		return err
	}
	picture, err := figure.Encode(plotFormat(path))
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}
