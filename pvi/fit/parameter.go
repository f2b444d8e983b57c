package fit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/study"
)

// A Parameter is one coordinate of θ.
type Parameter struct {
	Name  string
	Log   bool         // the coordinate is the logarithm of the parameter
	Prior study.Normal // of the coordinate
	About string       // what it is, in words; if Beyond, the distribution

	// Beyond says that Prior is only the base with which q begins: the prior is
	// of another kind, and clients share what it says beyond.
	Beyond bool
}

// OwnPrior returns the prior of a parameter whose coordinate is its logarithm.
func (p Parameter) OwnPrior() study.LogNormal {
	return study.LogNormal{Median: math.Exp(p.Prior.Mean), Factor: math.Exp(p.Prior.SD)}
}

// layout is where the kinds of parameters stand in θ.
type layout struct {
	coefficients int   // how many of them there are for one predictor, from 0 on
	classes      int   // predictors that have such coefficients, one set after the other
	scale        int   // log sd of noise or log dispersion; −1 if there is none
	groups       []way // by group term
}

// way is a group term in θ.
type way struct {
	spread []int // log sd of each effect
	first  []int // standardised effect of the first level, by effect; the others follow
	slopes []int // by effect: place among the slopes of the shard, −1 for the intercept
}

// New returns what a study is about.
func New(st *study.Study) (*Model, error) {
	m := &Model{Study: st}
	m.layout.scale = -1
	m.layout.classes = 1
	if st.Model.Family == study.Softmax {
		c, _ := st.Column(st.Model.Outcome)
		m.layout.classes = len(c.Levels) - 1
	}
	if m.General() {
		var err error
		if m.program, err = m.build(); err != nil {
			return nil, err
		}
		m.layout.coefficients = len(st.Coefficients()) + len(st.Model.Variables)
		m.takeParameters()
		return m, nil
	}
	m.addCoefficients()
	m.addScale()
	m.addGroups()
	var err error
	if m.program, err = m.build(); err != nil {
		return nil, err
	}
	if !st.Model.Conjugate() {
		return m, nil
	}
	var prior []model.Normal
	for _, p := range m.Parameters {
		prior = append(prior, model.Normal{Mean: p.Prior.Mean, SD: p.Prior.SD})
	}
	m.linear, err = model.NewLinear(m.Names(), prior, m.NoiseSD())
	return m, err
}

func (m *Model) add(p Parameter) int {
	m.Parameters = append(m.Parameters, p)
	return len(m.Parameters) - 1
}

func (m *Model) addCoefficients() {
	st := m.Study
	coefficients := st.Coefficients()
	m.layout.coefficients = len(coefficients)
	m.Parameters = slices.Grow(m.Parameters, m.layout.classes*len(coefficients))
	for class := range m.layout.classes {
		of, about := "", "coefficient"
		if st.Model.Family == study.Softmax {
			outcome, _ := st.Column(st.Model.Outcome)
			of = outcome.Levels[class+1] + "|"
			about = fmt.Sprintf("coefficient of the log odds of %s against %s", outcome.Levels[class+1], outcome.Levels[0])
		}
		for _, c := range coefficients {
			m.add(Parameter{Name: of + c.Name, Prior: st.Prior.For(c.Name), About: about})
		}
	}
}

func (m *Model) addScale() {
	st := m.Study
	switch st.Model.Family {
	case study.Linear:
		if st.Model.NoiseSD == 0 {
			m.layout.scale = m.add(Parameter{Name: "noise_sd", Log: true, Prior: st.Prior.Scale.Normal(), About: "standard deviation of the outcome around its mean"})
		}
	case study.Robust:
		m.layout.scale = m.add(Parameter{Name: "noise_scale", Log: true, Prior: st.Prior.Scale.Normal(), About: "scale of the Student-t distribution of the outcome around its centre"})
	case study.NegativeBinomial:
		m.layout.scale = m.add(Parameter{Name: "dispersion", Log: true, Prior: st.Prior.Dispersion.Normal(), About: "φ: a count of mean μ has variance μ + μ²/φ"})
	}
}

func (m *Model) addGroups() {
	st := m.Study
	slopes := 0
	for _, g := range st.Model.Groups {
		c, _ := st.Column(g.By)
		var w way
		for _, effect := range g.Effects() {
			what := g.By
			if effect != study.Intercept {
				what = g.By + ":" + effect
				w.slopes = append(w.slopes, slopes)
				slopes++
			} else {
				w.slopes = append(w.slopes, -1)
			}
			w.spread = append(w.spread, m.add(Parameter{
				Name: "sd(" + what + ")", Log: true, Prior: st.Prior.Scale.Normal(),
				About: fmt.Sprintf("spread of the %s between levels of %s", effectName(effect), g.By),
			}))
			w.first = append(w.first, len(m.Parameters))
			for _, level := range c.Levels {
				m.add(Parameter{
					Name: fmt.Sprintf("z(%s)[%s]", what, level), Prior: study.Normal{SD: 1},
					About: fmt.Sprintf("how far the %s of %s is from the mean over levels, in units of their spread", effectName(effect), level),
				})
			}
		}
		m.layout.groups = append(m.layout.groups, w)
	}
}

func effectName(effect string) string {
	if effect == study.Intercept {
		return effect
	}
	return "slope of " + effect
}

// Dim returns the dimension of θ.
func (m *Model) Dim() int { return len(m.Parameters) }

// Names returns the parameters' names in order.
func (m *Model) Names() []string {
	names := make([]string, len(m.Parameters))
	for i, p := range m.Parameters {
		names[i] = p.Name
	}
	return names
}

// Prior returns the natural parameters of the prior in family.
func (m *Model) Prior(family gaussian.Family) ([]float64, error) {
	mean := make([]float64, m.Dim())
	cov := mat.NewDiagDense(m.Dim(), nil)
	for i, p := range m.Parameters {
		mean[i] = p.Prior.Mean
		cov.SetDiag(i, p.Prior.SD*p.Prior.SD)
	}
	natural := make([]float64, family.Size())
	if err := family.FromMoments(natural, mean, cov); err != nil {
		return nil, fmt.Errorf("prior: %w", err)
	}
	return natural, nil
}
