package study

import (
	"fmt"
	"slices"

	"fedpvi/internal/document"
)

// Bounds is an interval with Low < High.
type Bounds struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A Standardisation finds narrower bounds for columns whose public bounds are far too wide. Before
// the first round, clients make private releases for this purpose. The narrower bounds are then
// mapped to [−1, 1].
type Standardisation struct {
	Columns []int   // indices in Study.Columns of numeric columns, in increasing order
	Rounds  int     // number of passes, each of which starts from the bounds found by the one before; default 3
	SDs     float64 // how many standard deviations of the column the bounds extend from the mean on each side; default 4

	// Share is the share of the study's μ² that all passes together may spend, default 0.1. It is 0 if
	// the study gives the noise multiplier of each pass, NoiseMultiplier, instead.
	Share           float64
	NoiseMultiplier float64
}

const (
	maxPasses = 20
	minSDs    = 1
	maxSDs    = 100
)

func readStandardisation(s *Study, t *document.Table, asked, wanted bool) {
	if !wanted {
		if asked {
			t.Errorf("", `is used only with model.standardise = "private"`)
		}
		ignore(t)
		return
	}
	st := &Standardisation{Rounds: 3, SDs: 4}
	s.Standardisation = st
	st.Columns = s.standardisable(t)
	readCount(t, "rounds", &st.Rounds, maxPasses)
	if sds, ok := t.Float("sds"); ok {
		if st.SDs = sds; !(sds >= minSDs && sds <= maxSDs) {
			t.Errorf("sds", "must lie between %d and %d, got %g", minSDs, maxSDs, sds)
		}
	}
	readStandardisationNoise(s, st, t)
}

func readStandardisationNoise(s *Study, st *Standardisation, t *document.Table) {
	switch {
	case s.Privacy.Unit == None:
		refuseAll(t, []string{"budget_share", "noise_multiplier"}, `has no meaning with privacy.unit = "none": remove it`)
	case s.Privacy.NoiseMultiplier > 0:
		refuse(t, "budget_share", "there is no budget to share with privacy.noise_multiplier: write a noise_multiplier here too")
		t.Require("noise_multiplier", "write the noise multiplier of each pass; privacy.noise_multiplier is that of each round")
		readPositive(t, "noise_multiplier", &st.NoiseMultiplier)
	default:
		refuse(t, "noise_multiplier", "follows from privacy.epsilon and budget_share: remove it")
		st.Share = 0.1
		readShare(t, "budget_share", &st.Share, "(0, 1)")
	}
}

// standardisable returns the indices of the columns to standardise: those listed in t or, by
// default, all numeric columns in use without a centre and a spread. The outcome is included only
// if it is a number on the model's scale.
func (s *Study) standardisable(t *document.Table) []int {
	var columns []int
	if names, ok := t.Strings("columns"); ok {
		for _, name := range names {
			i := s.ColumnIndex(name)
			switch {
			case i < 0:
				t.Errorf("columns", "column %q is not declared", name)
			case s.Columns[i].Type != Numeric:
				t.Errorf("columns", "column %q is %s: only numeric columns have a mean", name, s.Columns[i].Type)
			case !s.uses(name):
				t.Errorf("columns", "column %q is not in the model, which does not need its scale: remove it", name)
			case s.Columns[i].Spread > 0:
				t.Errorf("columns", "column %q has a centre and a spread of its own", name)
			case slices.Contains(columns, i):
				t.Errorf("columns", "column %q is named twice", name)
			default:
				columns = append(columns, i)
			}
		}
		if len(names) == 0 {
			t.Errorf("columns", "names no column: remove it to use every numeric column of the model")
		}
		slices.Sort(columns)
		return columns
	}
	for i, c := range s.Columns {
		if c.Type == Numeric && c.Spread == 0 && s.uses(c.Name) {
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 {
		t.Errorf("", `the model has no numeric column whose scale is to be found: write model.standardise = "bounds"`)
	}
	return columns
}

func (s *Study) uses(name string) bool {
	if !slices.Contains(s.Reads(), s.ColumnIndex(name)) {
		return false
	}
	return name != s.Model.Outcome || s.Model.Kind() == Measured
}

// Scale returns the bounds that are mapped to [−1, 1]: the public ones, or those found by a
// standardisation. It must not be used for a column with a centre and a spread.
func (c *Column) Scale() Bounds {
	if c.Found != nil {
		return *c.Found
	}
	return Bounds{c.Low, c.High}
}

// HasScale reports whether the scale of every column is known. If the study has a standardisation,
// that is so only after its end.
func (s *Study) HasScale() bool {
	return s.Standardisation == nil || s.Columns[s.Standardisation.Columns[0]].Found != nil
}

// PublicScale returns the public bounds of the standardised columns.
func (s *Study) PublicScale() []Bounds {
	var bounds []Bounds
	if s.Standardisation == nil {
		return bounds
	}
	for _, i := range s.Standardisation.Columns {
		bounds = append(bounds, Bounds{s.Columns[i].Low, s.Columns[i].High})
	}
	return bounds
}

// Scales returns the bounds of each standardised column that are mapped to [−1, 1].
func (s *Study) Scales() []Bounds {
	scales := s.PublicScale()
	for k := range scales {
		scales[k] = s.Columns[s.Standardisation.Columns[k]].Scale()
	}
	return scales
}

// WithScale returns the study with the given new bounds for the standardised columns. Values beyond
// these bounds will be moved to the nearest bound.
func (s *Study) WithScale(found []Bounds) (*Study, error) {
	public := s.PublicScale()
	if len(found) != len(public) {
		return nil, fmt.Errorf("study %s: a scale of %d columns, want %d", s.Name, len(found), len(public))
	}
	scaled := *s
	scaled.Columns = slices.Clone(s.Columns)
	for k, b := range found {
		c := &scaled.Columns[s.Standardisation.Columns[k]]
		c.Found = &b
		if !(public[k].Low <= b.Low && b.Low < b.High && b.High <= public[k].High && c.Half() > 0) {
			return nil, fmt.Errorf("study %s: the scale [%g, %g] of column %s is not an interval within its bounds [%g, %g]", s.Name, b.Low, b.High, c.Name, c.Low, c.High)
		}
	}
	return &scaled, nil
}
