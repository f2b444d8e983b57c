package cuda

import (
	"errors"
	"fmt"
	"math"
)

// A Base is independent normal distributions of the coordinates of θ, with which q begins.
// Where the prior is another one, what it is beyond the base is part of the objective, and
// Share of it is this problem's.
type Base struct {
	Mean, SD []float64
	Share    float64
}

func (b *Base) check(d int) error {
	if len(b.Mean) != d || len(b.SD) != d {
		return fmt.Errorf("cuda: a base of %d coordinates, want %d", len(b.Mean), d)
	}
	return nil
}

// The kinds of priors that a coordinate can have beyond its base, in the order that the
// kernels have.
const (
	notBeyond = iota
	stick
	logInverseGamma
	logHalfNormal
	logHalfCauchy
)

// beyond is the prior of a coordinate, and its base.
type beyond struct {
	kind                    uint64
	first, second, mean, sd float64
}

func (b *beyond) appendWords(words []uint64) []uint64 {
	return appendFloats(append(words, b.kind), []float64{b.first, b.second, b.mean, b.sd})
}

// of returns the priors of all coordinates, none of them beyond the base yet.
func (b *Base) of() []beyond {
	all := make([]beyond, len(b.Mean))
	for i := range all {
		all[i].mean, all[i].sd = b.Mean[i], b.SD[i]
	}
	return all
}

// A Mixture is the data of a mixture of Gaussians with independent variables, in the
// coordinates of model.Mixture. The prior of the means is the base's.
type Mixture struct {
	Components, Variables int
	Rows                  []float64 // Variables numbers for each record
	Concentration         float64   // of the weights' Dirichlet prior
	Shape, Scale          float64   // of the variances' inverse-gamma priors
	Base                  Base
}

// Dim returns the number of coordinates.
func (m *Mixture) Dim() int { return m.Components - 1 + 2*m.Components*m.Variables }

// NewMixture copies the data of a mixture to a device.
func NewMixture(d Device, m Mixture) (*Table, error) {
	switch {
	case m.Components < 2 || m.Variables < 1 || m.Components > MaxDim || m.Variables > MaxDim || m.Dim() > MaxDim:
		return nil, fmt.Errorf("cuda: a mixture of %d components and %d variables has too few or too many coordinates", m.Components, m.Variables)
	case len(m.Rows)%m.Variables != 0:
		return nil, errors.New("cuda: a row needs a number for each variable")
	case !positive(m.Concentration) || !positive(m.Shape) || !positive(m.Scale):
		return nil, errors.New("cuda: concentration, shape and scale must be positive and finite")
	}
	if err := m.Base.check(m.Dim()); err != nil {
		return nil, err
	}
	t := &Table{
		device: d, kernel: "descend_mixture", records: len(m.Rows) / m.Variables, dim: m.Dim(), share: m.Base.Share,
		shared: formed(m.Dim(), m.Dim(), 2*m.Components-1, m.Components*(1+m.Variables)+2*(m.Components-1)),
	}
	all := m.Base.of()
	for k := range m.Components - 1 {
		all[k].kind, all[k].first, all[k].second = stick, m.Concentration, float64(m.Components-1-k)
	}
	for i := m.Components - 1 + m.Components*m.Variables; i < len(all); i++ {
		all[i].kind, all[i].first, all[i].second = logInverseGamma, m.Shape, m.Scale
	}
	return t.put(content{rows: m.Rows, model: []float64{float64(m.Components), float64(m.Variables)}, beyond: all})
}

// formed returns the words of a block's memory for vectors of so many coordinates and
// dense elements, of which so much is kept of a record and of a step.
func formed(dim, dense, kept, shared int) func(threads int) int {
	return func(threads int) int { return shared + threads*kept + threads + dim + max(threads, dense) + threads/2 }
}

// A Multilevel is the data of a regression whose intercept and some slopes vary between
// groups, in the coordinates of model.Multilevel without correlation. The prior of
// coefficients and of deviations is the base's.
type Multilevel struct {
	Family    Family
	Features  int
	Intercept bool  // has a coordinate of its own
	Groups    int   // number of groups
	Slopes    []int // features whose slopes vary, beside the intercept

	Rows     []float64 // Features numbers for each record
	Group    []int     // of each record, from 0
	Outcomes []float64 // one for each record

	Scale float64 // of the half-normal priors of standard deviations between groups
	Noise float64 // of the half-Cauchy prior of that of [Linear] outcomes
	Base  Base
}

// Dim returns the number of coordinates.
func (m *Multilevel) Dim() int {
	return m.Features + count(m.Intercept) + (1+len(m.Slopes))*(1+m.Groups) + count(m.Family == Linear)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// NewMultilevel copies the data of a multilevel regression to a device.
func NewMultilevel(d Device, m Multilevel) (*Table, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	vary := 1 + len(m.Slopes)
	dense := m.Features + count(m.Intercept) + vary + count(m.Family == Linear)
	t := &Table{
		device: d, kernel: "descend_multilevel", family: m.Family, records: len(m.Outcomes), dim: m.Dim(), share: m.Base.Share,
		shared: formed(m.Dim(), dense, 2, vary+1),
	}
	rows := make([]float64, 0, len(m.Outcomes)*(m.Features+1))
	for i, g := range m.Group {
		rows = append(append(rows, m.Rows[i*m.Features:][:m.Features]...), float64(g))
	}
	model := []float64{float64(m.Features), float64(count(m.Intercept)), float64(m.Groups), float64(vary)}
	for _, k := range m.Slopes {
		model = append(model, float64(k))
	}
	all := m.Base.of()
	for e := range vary {
		tau := &all[m.Features+count(m.Intercept)+e*(1+m.Groups)]
		tau.kind, tau.first = logHalfNormal, m.Scale*m.Scale
	}
	if m.Family == Linear {
		sigma := &all[len(all)-1]
		sigma.kind, sigma.first = logHalfCauchy, m.Noise*m.Noise
	}
	return t.put(content{rows: rows, outcomes: m.Outcomes, model: model, beyond: all})
}

func (m *Multilevel) check() error {
	n := len(m.Outcomes)
	switch {
	case m.Family > Poisson:
		return fmt.Errorf("cuda: no family has the number %d", m.Family)
	case m.Features < 0 || m.Groups < 1 || m.Features > MaxDim || m.Groups > MaxDim || len(m.Slopes) > m.Features || m.Dim() > MaxDim:
		return fmt.Errorf("cuda: %d features and %d groups have too few or too many coordinates", m.Features, m.Groups)
	case len(m.Rows) != n*m.Features || len(m.Group) != n:
		return errors.New("cuda: every outcome needs a group, and a row with a number for each feature")
	case !positive(m.Scale) || m.Family == Linear && !positive(m.Noise):
		return errors.New("cuda: the scales of priors must be positive and finite")
	}
	for _, g := range m.Group {
		if g < 0 || g >= m.Groups {
			return errors.New("cuda: a record is in a group that there is not")
		}
	}
	for _, k := range m.Slopes {
		if k < 0 || k >= m.Features {
			return fmt.Errorf("cuda: the slope of feature %d varies, of %d", k, m.Features)
		}
	}
	if math.IsNaN(m.Base.Share) {
		return errors.New("cuda: the share of the prior is no number")
	}
	return m.Base.check(m.Dim())
}
