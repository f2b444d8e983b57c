package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fedpvi/internal/document"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A Spec is a sweep file whose content has been checked.
type Spec struct {
	Name   string
	Title  string
	Study  string // path of the study file
	Seeds  int    // number of runs of each grid cell
	First  int    // seed of the first run of a cell; further runs use the seeds that follow
	Trace  int    // number of rounds between rows of the trace; 0 for no trace
	Tested bool   // whether some run has held-out records, so that the results have columns for predictions
	Axes   []Axis
	Random []Random
	Plots  []Plot
	Digest string // SHA-256 of the sweep and the study

	// Data holds the SHA-256 of every file of records that the studies name, by file name.
	Data map[string]string

	// Devices compute the private gradient steps of all runs that can use them. If it is nil, the
	// CPU computes all steps.
	Devices *sim.Devices

	source []byte // content of the study file
	fixed  []study.Override

	tracePredictions bool
}

// An Axis is a dimension of the grid of settings.
type Axis struct {
	Name  string // name of the column in the results
	Cases []Case
}

// A Case is one point of an axis. It sets one or more keys of the study.
type Case struct {
	Label     string
	Overrides []study.Override
}

// Random is a setting that gets a new uniformly distributed value for each seed.
type Random struct {
	Key       string
	Low, High float64
}

const maxRuns = 1_000_000

// Load reads and checks a sweep file and its study.
func Load(path string) (*Spec, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	doc, err := document.Parse(path, source)
	if err != nil {
		return nil, err
	}
	s := &Spec{Data: map[string]string{}}
	root := doc.Root()
	if root.Has("study") && !root.Has("sweep") {
		return nil, fmt.Errorf("%s: this is a study: sim run %s", path, path)
	}
	s.readSweep(root.Table("sweep"), path)
	s.fixed = readOverrides(root.Table("set"))
	s.readAxes(root)
	s.readRandom(root.Table("random"))
	s.Plots = s.readPlots(root)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	if s.source, err = os.ReadFile(s.Study); err != nil {
		return nil, fmt.Errorf("%s: sweep.study: %w", path, err)
	}
	if s.source, err = study.Attach(s.Study, s.source, os.ReadFile); err != nil {
		return nil, err
	}
	if runs := s.Runs(); runs > maxRuns {
		return nil, fmt.Errorf("%s: the grid has %d runs, at most %d are possible", path, runs, maxRuns)
	}
	sum := sha256.Sum256(append(append(source, 0), s.source...))
	s.Digest = hex.EncodeToString(sum[:])
	for cell := range s.cells() {
		if err := s.checkCell(cell); err != nil {
			if len(s.Axes) > 0 {
				err = fmt.Errorf("cell %s: %w", s.describe(cell), err)
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if needs := s.needsTest(); needs != "" && !s.Tested {
		return nil, fmt.Errorf("%s: %s needs held-out records: write simulation.test in the study, their share", path, needs)
	}
	return s, nil
}

// checkCell reads the study of a grid cell, sets s.Tested and adds to s.Data.
func (s *Spec) checkCell(cell int) error {
	st, err := s.study(cell, 1)
	if err != nil {
		return err
	}
	s.Tested = s.Tested || st.Simulation.Test > 0 || len(st.Simulation.TestData) > 0
	for _, name := range slices.Concat(st.Simulation.Data, st.Simulation.TestData) {
		if err := s.digestData(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spec) digestData(name string) error {
	if _, known := s.Data[name]; known {
		return nil
	}
	path, err := sim.FindData(s.Study, name)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("file of records: %w", err)
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return fmt.Errorf("file of records: %w", err)
	}
	s.Data[name] = hex.EncodeToString(h.Sum(nil))
	return nil
}

func (s *Spec) readSweep(t *document.Table, path string) {
	t.Require("name", `write name = "figure-1"`)
	s.Name, _ = t.String("name")
	s.Title = textOr(t, "title", s.Name)
	t.Require("study", "write the path of a study, beside the sweep")
	file, _ := t.String("study")
	if s.Study = file; !filepath.IsAbs(file) {
		s.Study = filepath.Join(filepath.Dir(path), file)
	}
	t.Require("seeds", "write how many runs each point of the grid has")
	s.Seeds, _ = t.Int("seeds")
	if t.Has("seeds") && s.Seeds < 1 {
		t.Errorf("seeds", "must be at least 1, got %d", s.Seeds)
	}
	s.First = 1
	if first, ok := t.Int("first_seed"); ok {
		s.First = first
	}
	if s.First < 0 {
		t.Errorf("first_seed", "must not be negative, got %d", s.First)
	}
	if s.Trace, _ = t.Int("trace"); s.Trace < 0 {
		t.Errorf("trace", "must not be negative, got %d", s.Trace)
	}
	if s.tracePredictions, _ = t.Bool("trace_predictions"); s.tracePredictions && s.Trace == 0 {
		t.Errorf("trace_predictions", "has no meaning without trace, the rounds between rows")
	}
}

func textOr(t *document.Table, key, byDefault string) string {
	if text, ok := t.String(key); ok {
		return text
	}
	return byDefault
}

func readOverrides(t *document.Table) []study.Override {
	var overrides []study.Override
	for _, key := range t.Keys() {
		value, _ := t.Value(key)
		text, err := encode(value)
		if err != nil {
			t.Errorf(key, "%v", err)
		}
		overrides = append(overrides, study.Override{Key: key, Value: text})
	}
	return overrides
}

// encode returns a decoded TOML value as TOML text.
func encode(value any) (string, error) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return "", nil // there is no value, and an override without a value removes the key
		}
		return strconv.Quote(v), nil
	case bool, int64:
		return fmt.Sprint(v), nil
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text, nil
	}
	return "", fmt.Errorf("must be text, a number, true or false")
}

func (s *Spec) readAxes(root *document.Table) {
	for _, t := range root.Tables("axis") {
		var axis Axis
		if key, ok := t.String("key"); ok {
			axis = readValues(t, key)
		} else {
			axis = readCases(t)
		}
		if slices.ContainsFunc(s.Axes, func(a Axis) bool { return a.Name == axis.Name }) {
			t.Errorf("", "two axes are named %q", axis.Name)
		}
		if len(axis.Cases) == 0 {
			t.Errorf("", "the axis has no point")
		}
		s.Axes = append(s.Axes, axis)
	}
}

func readValues(t *document.Table, key string) Axis {
	axis := Axis{Name: textOr(t, "name", key)}
	t.Require("values", "write the values that the setting takes, values = [1, 2, 5]")
	values, _ := t.List("values")
	for _, v := range values {
		text, err := encode(v)
		if err != nil {
			t.Errorf("values", "%v", err)
			continue
		}
		axis.Cases = append(axis.Cases, Case{
			Label:     strings.Trim(text, `"`),
			Overrides: []study.Override{{Key: key, Value: text}},
		})
	}
	return axis
}

func readCases(t *document.Table) Axis {
	t.Require("name", `write key = "privacy.clip" for an axis of one setting, or a name for one of cases`)
	var axis Axis
	axis.Name, _ = t.String("name")
	for _, c := range t.Tables("case") {
		c.Require("label", "name the case")
		label, _ := c.String("label")
		axis.Cases = append(axis.Cases, Case{Label: label, Overrides: readOverrides(c.Table("set"))})
	}
	return axis
}

func (s *Spec) readRandom(t *document.Table) {
	for _, key := range t.Keys() {
		bounds, ok := t.Floats(key)
		if ok && (len(bounds) != 2 || !(bounds[0] < bounds[1])) {
			t.Errorf(key, "must be the bounds of a uniform draw, [low, high]")
			continue
		}
		if ok {
			s.Random = append(s.Random, Random{key, bounds[0], bounds[1]})
		}
	}
}

// Runs returns the number of runs of the sweep.
func (s *Spec) Runs() int { return s.cells() * s.Seeds }

// cells returns the number of points of the grid. If there are more than maxRuns, it returns
// maxRuns + 1.
func (s *Spec) cells() int {
	n := 1
	for _, a := range s.Axes {
		n *= len(a.Cases)
		if n > maxRuns {
			return maxRuns + 1
		}
	}
	return n
}

// cases returns the settings of a cell, one Case for each axis. Cells are numbered in the order of
// the grid's points, in which the last axis varies fastest.
func (s *Spec) cases(cell int) []Case {
	cases := make([]Case, len(s.Axes))
	for i := len(s.Axes) - 1; i >= 0; i-- {
		n := len(s.Axes[i].Cases)
		cases[i] = s.Axes[i].Cases[cell%n]
		cell /= n
	}
	return cases
}

func (s *Spec) describe(cell int) string {
	var parts []string
	for i, c := range s.cases(cell) {
		parts = append(parts, s.Axes[i].Name+" = "+c.Label)
	}
	return strings.Join(parts, ", ")
}

// study returns the study of a grid cell for a seed.
func (s *Spec) study(cell int, seed uint64) (*study.Study, error) {
	overrides := slices.Clone(s.fixed)
	for _, c := range s.cases(cell) {
		overrides = append(overrides, c.Overrides...)
	}
	// The random values depend only on the seed, so that all cells have the same values.
	for i, r := range s.Random {
		x := rand.New(rand.NewPCG(seed, uint64(i))).Float64()
		text, err := encode(r.Low + (r.High-r.Low)*x)
		if err != nil {
			return nil, err
		}
		overrides = append(overrides, study.Override{Key: r.Key, Value: text})
	}
	st, err := study.Parse(s.Study, s.source, overrides...)
	if err == nil && st.Model.Absent() {
		return nil, fmt.Errorf("study %s: it has no model, and a sweep compares posteriors: sim run makes its tables", st.Name)
	}
	return st, err
}
