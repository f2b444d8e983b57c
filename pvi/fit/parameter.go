package fit

import (
	"fmt"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"
)

// A layout has the indices in θ at which each kind of parameter begins.
type layout struct {
	regressors   ir.Names // names of the regressors, in the order of the terms
	coefficients int      // number of coefficients of one predictor; their indices begin at 0
	classes      int      // number of predictors; each has its own coefficients, in consecutive blocks
	scale        int      // index of the log sd of the noise or of the log dispersion; −1 if there is none
	groups       []way    // indices of each group term
}

// A way has the indices in θ of the parameters of a group term.
type way struct {
	spread []int // index of the log sd of each effect
	first  []int // index of the first level's standardised effect, for each effect; the other levels follow
	slopes []int // index of each effect's column among a record's slopes; −1 for the intercept
}

// New returns the model of a study.
func New(st *study.Study) (*Model, error) {
	m := &Model{Study: st}
	m.layout.scale = -1
	m.layout.classes = 1
	if st.Model.Family == study.Softmax {
		c, _ := st.Column(st.Model.Outcome)
		m.layout.classes = len(c.Levels) - 1
	}
	m.layout.regressors = regressors(st)
	m.layout.coefficients = m.layout.regressors.Len() + len(st.Model.Variables)
	if m.General() {
		var err error
		if m.program, err = m.build(); err != nil {
			return nil, err
		}
		m.takeParameters()
		return m, nil
	}
	m.addCoefficients()
	m.addScale()
	m.addGroups()
	program, err := m.build()
	if err != nil {
		return nil, err
	}
	if m.Dim() <= keptProgram {
		m.program = program
	}
	if !st.Model.Conjugate() {
		return m, nil
	}
	prior := make([]model.Normal, 0, m.Dim())
	for _, p := range m.Parameters.All() {
		prior = append(prior, model.Normal{Mean: p.Prior.Mean, SD: p.Prior.SD})
	}
	m.linear, err = model.NewLinear(m.Names(), prior, m.NoiseSD())
	return m, err
}

// regressors returns the names of the terms' coefficients, up to the first name that is too long
// for a program. Package model refuses that name, so the remaining names, possibly millions, are
// never built.
func regressors(st *study.Study) ir.Names {
	return ir.CollectNames(func(yield func(string) bool) {
		for c := range st.Coefficients() {
			if !yield(c.Name) || len(c.Name) > ir.MaxName {
				return
			}
		}
	})
}

func (m *Model) addCoefficients() {
	st, names := m.Study, m.layout.regressors
	n := names.Len()
	prior := priors(st, names)
	one := func(k int) Parameter { return Parameter{Name: names.At(k), Prior: prior(k), About: "coefficient"} }
	if st.Model.Family == study.Softmax {
		outcome, _ := st.Column(st.Model.Outcome)
		classes := make([]ir.Names, m.layout.classes)
		about := make([]string, m.layout.classes)
		for i, class := range outcome.Levels[1:] {
			classes[i] = names.After(class + oddsOf)
			about[i] = fmt.Sprintf("coefficient of the log odds of %s against %s", class, outcome.Levels[0])
		}
		one = func(k int) Parameter {
			return Parameter{Name: classes[k/n].At(k % n), Prior: prior(k), About: about[k/n]}
		}
	}
	m.Parameters.addAll(n*m.layout.classes, one, prior)
}

// priors returns a function that returns the prior of coefficient k, where the coefficients of
// one class follow those of the class before it. names has the names for one class.
func priors(st *study.Study, names ir.Names) func(k int) study.Normal {
	n, common := names.Len(), study.Normal{Mean: st.Prior.Mean, SD: st.Prior.SD}
	others := map[int]study.Normal{}
	for k := range n {
		if p := st.Prior.For(names.At(k)); p != common {
			others[k] = p
		}
	}
	if len(others) == 0 {
		return func(int) study.Normal { return common }
	}
	return func(k int) study.Normal {
		if p, ok := others[k%n]; ok {
			return p
		}
		return common
	}
}

// oddsOf separates the name of a class from the name of a coefficient in the log odds of that
// class.
const oddsOf = "|"

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
			w.spread = append(w.spread, m.Parameters.add(Parameter{
				Name: "sd(" + what + ")", Log: true, Prior: st.Prior.Scale.Normal(),
				About: fmt.Sprintf("spread of the %s between levels of %s", effectName(effect), g.By),
			}))
			w.first = append(w.first, m.Parameters.addAll(len(c.Levels), func(k int) Parameter {
				return Parameter{
					Name: fmt.Sprintf("z(%s)[%s]", what, c.Levels[k]), Prior: study.Normal{SD: 1},
					About: fmt.Sprintf("how far the %s of %s is from the mean over levels, in units of their spread", effectName(effect), c.Levels[k]),
				}
			}, func(int) study.Normal { return study.Normal{SD: 1} }))
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
func (m *Model) Dim() int { return m.Parameters.Len() }

// Names returns the parameters' names in order.
func (m *Model) Names() []string {
	names := make([]string, m.Parameters.Len())
	for i, p := range m.Parameters.All() {
		names[i] = p.Name
	}
	return names
}

// NaturalPrior returns the natural parameters of the prior of coordinate i. Coordinates are
// independent.
func (m *Model) NaturalPrior(i int) (h, precision float64) {
	own := m.Parameters.Prior(i)
	precision = 1 / (own.SD * own.SD)
	return precision * own.Mean, precision
}

// CheckPrior returns the error that Prior returns in a diagonal family, without building
// the prior.
func (m *Model) CheckPrior() error {
	for i := range m.Dim() {
		h, precision := m.NaturalPrior(i)
		if err := gaussian.CheckCoordinate(i, h, precision); err != nil {
			return fmt.Errorf("prior: %w", err)
		}
	}
	return nil
}

// Prior returns the natural parameters of the prior in the given family.
func (m *Model) Prior(family gaussian.Family) ([]float64, error) {
	mean := make([]float64, m.Dim())
	for i := range mean {
		mean[i] = m.Parameters.Prior(i).Mean
	}
	natural := make([]float64, family.Size())
	if err := family.FromMoments(natural, mean, covariance{&m.Parameters}); err != nil {
		return nil, fmt.Errorf("prior: %w", err)
	}
	return natural, nil
}
