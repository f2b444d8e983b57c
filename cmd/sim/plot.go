package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fedpvi/sim/report"
)

// checkPlot returns an error if the file name in the flag --plot has an unknown suffix. An empty
// name is valid.
func checkPlot(path string) error {
	if f := plotFormat(path); path != "" && f != "svg" && f != "png" {
		return fmt.Errorf("--plot %s: the name must end in .svg or .png", path)
	}
	return nil
}

func plotFormat(path string) string { return strings.TrimPrefix(filepath.Ext(path), ".") }

func writePlot(path string, figure report.Figure) error {
	picture, err := figure.Encode(plotFormat(path))
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}
