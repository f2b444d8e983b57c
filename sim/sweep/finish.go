package sweep

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// A Point describes one point of the grid in an [Overview].
type Point struct {
	Cases   map[string]string  `json:"cases"`   // label of the point on each axis of the grid
	Summary map[string]float64 `json:"summary"` // columns of summary.csv, without empty values
}

// An Overview is the summary of a sweep as JSON.
type Overview struct {
	Sweep  string  `json:"sweep"`
	Title  string  `json:"title"`
	Digest string  `json:"digest"` // SHA-256 of the sweep and the study
	Runs   int     `json:"runs"`
	Points []Point `json:"points"`
	Folder string  `json:"folder"`
}

// Overview returns the content of summary.csv.
func (r *Results) Overview() Overview {
	o := Overview{Sweep: r.spec.Name, Title: r.spec.Title, Digest: r.spec.Digest, Runs: r.Runs(), Folder: r.Folder}
	for cell := range r.spec.cells() {
		p := Point{map[string]string{}, map[string]float64{}}
		for i, c := range r.spec.cases(cell) {
			p.Cases[r.spec.Axes[i].Name] = c.Label
		}
		for name, x := range r.describe(cell) {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				p.Summary[name] = x
			}
		}
		o.Points = append(o.Points, p)
	}
	return o
}

// Finish writes summary.csv, summary.md and the plots from the results.
func (r *Results) Finish() error {
	err := errors.Join(
		r.write("summary.csv", r.writeSummary),
		r.write("summary.md", func(file *os.File) error { return r.markdown(file) }),
	)
	if err != nil {
		return err
	}
	for _, p := range r.spec.Plots {
		if err := r.plot(p); err != nil {
			return fmt.Errorf("plot %s: %w", p.File, err)
		}
	}
	return nil
}

func (r *Results) write(name string, content func(*os.File) error) error {
	file, err := os.Create(filepath.Join(r.Folder, name))
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}

func (r *Results) writeSummary(file *os.File) error {
	header := r.spec.axisNames()
	for _, s := range r.statistics() {
		header = append(header, s.name)
	}
	if err := writeRow(file, header); err != nil {
		return err
	}
	for cell := range r.spec.cells() {
		var fields []string
		for _, c := range r.spec.cases(cell) {
			fields = append(fields, c.Label)
		}
		for _, s := range r.statistics() {
			fields = append(fields, formatField(s.of(r, cell)))
		}
		if err := writeRow(file, fields); err != nil {
			return err
		}
	}
	return nil
}
